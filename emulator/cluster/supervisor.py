"""The process that holds a cluster: `python -m emulator.cluster.supervisor RUN_DIR`.

It has a session of its own. Until its parent writes `keep` to its standard input, it lives and dies with the parent: a
half-started cluster whose `up` was killed ends by itself. Afterwards it ends on `down`, on SIGTERM, or when it is
killed; the kernel ends the nodes with it in any case.
"""

import os
import signal
import sys
from functools import partial
from pathlib import Path

import trio

from emulator.cluster.cluster_registry import KEEP, LOG_FILE, Registration, register, unregister
from emulator.cluster.control_server import LOOPBACK
from emulator.cluster.live_audit_request import Auditing
from emulator.cluster.live_cluster import LiveCluster
from emulator.cluster.serve import hold
from emulator.cluster.specification import LiveSpec, UnusableSpecification, read_specification
from emulator.exit_codes import UNKNOWN
from emulator.identity import mine
from emulator.runs.engine_choice import UNUSABLE_MACHINES, MakeCluster, machines_for
from emulator.runs.network_run import machine_specs
from emulator.toplevel_errors import ended, leaves
from emulator.worlds.network.forking import ForkServerLost
from emulator.worlds.network.ports import PortInUse
from emulator.worlds.network.spec import SpecError

ENDING = (ForkServerLost, PortInUse, SpecError, UnusableSpecification, *UNUSABLE_MACHINES)


async def serve(spec: LiveSpec, run_dir: Path, make_cluster: MakeCluster) -> None:
    """Serve until a request or a signal ends it."""
    specs = machine_specs(spec.run)
    cluster = make_cluster(
        run_dir, spec.run.topology, specs, speed=spec.speed, seed=spec.seed, levels=spec.levels
    )
    live = LiveCluster(spec, cluster)

    def opened(port: int) -> None:
        register(run_dir, registration(spec, cluster.engine.pid or os.getpid(), port, cluster.token))

    audit = Auditing(run_dir).audit
    await hold(live, opened, partial(_until_kept, live.ending), port=spec.control_port, audit=audit, has_page=spec.page)


def registration(spec: LiveSpec, session: int = 0, port: int = 0, token: str = "") -> Registration:
    """Entry of this process; without a port while its machines are made."""
    return Registration(
        spec.name, mine(), session, LOOPBACK, port, token, engine=spec.engine, driver=spec.driver
    )  # fmt: skip


async def _until_kept(ending: trio.Event) -> None:
    """Wait until the parent keeps the cluster, or is gone."""
    received = b""
    async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as stream:
        while KEEP not in received:
            data = await stream.receive_some(64)
            if not data:
                print("the process that started the cluster is gone; the cluster ends", file=sys.stderr, flush=True)
                ending.set()
                return
            received = received[-len(KEEP) :] + data


def main(arguments: list[str]) -> int:
    """RUN_DIR, with its live.json.

    Exit code 0, or that of a failure, whose reason is the last line.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))  # while machines come and go
    return ended("faultline", lambda: _supervise(Path(arguments[0])), log=LOG_FILE)


def _supervise(run_dir: Path) -> int:
    try:
        spec = read_specification(run_dir)
        register(run_dir, registration(spec))
        with machines_for(spec.run.topology, run_dir, **spec.living, kafka=spec.kafka) as make_cluster:
            # From here on the event loop obeys SIGTERM; while it ends, an exception at any point would break it.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            trio.run(serve, spec, run_dir, make_cluster)
    except SystemExit:
        pass  # SIGTERM while machines were made; they are gone
    except BaseException as error:
        known = [cause for cause in leaves(error) if isinstance(cause, ENDING)]
        if len(known) < len(list(leaves(error))):
            raise
        print(f"faultline: {known[0]}", file=sys.stderr)
        return UNKNOWN  # it stays registered: commands report the failure, and `down` removes the rest
    unregister(run_dir)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
