"""The process that holds a cluster: `python -m emulator.live.supervisor RUN_DIR`, in a session of its own.

Until whoever started it says `keep` on its standard input, it lives and dies with that: a half-started cluster whose
`up` was killed ends by itself. Afterwards it ends on `down`, on SIGTERM, or when it is killed; the kernel ends the
nodes with it in any case.
"""

import os
import signal
import sys
import traceback
from pathlib import Path

import msgspec
import psutil
import trio

from emulator.live.cluster import LiveCluster
from emulator.live.door import LAST_ANSWERS_S, LOOPBACK, Door
from emulator.live.registry import KEEP, Registration, register, unregister
from emulator.live.specification import LiveSpec, read_specification
from emulator.runs.machines import UNUSABLE_MACHINES, MakeCluster, machines_for
from emulator.runs.network import machine_specs
from emulator.world.network.cluster import ClusterError
from emulator.world.network.forking import ForkServerLost
from emulator.world.network.spec import EXIT_CRASHED, SpecError
from emulator.world.network.supervision import PortInUse

ENDING = (ClusterError, ForkServerLost, PortInUse, SpecError, *UNUSABLE_MACHINES, OSError, msgspec.DecodeError)


async def serve(spec: LiveSpec, run_dir: Path, make_cluster: MakeCluster) -> None:
    """Until somebody ends it."""
    specs = machine_specs(spec.run)
    cluster = make_cluster(run_dir, spec.run.topology, specs, speed=spec.speed, seed=spec.seed, levels=spec.levels)
    live = LiveCluster(spec, cluster)
    async with trio.open_nursery() as outer:
        await outer.start(obey_signals, live.ending)  # to the very end: a second word must not tear it
        await _serve(live, run_dir)
        outer.cancel_scope.cancel()


async def _serve(live: LiveCluster, run_dir: Path) -> None:
    spec, cluster = live.spec, live.cluster
    async with cluster, trio.open_nursery() as nursery:
        nursery.start_soon(_until_kept, live.ending)
        door = Door(cluster.token, live.answer)
        port: int = await nursery.start(door.serve)
        created = psutil.Process().create_time()
        pid, token = os.getpid(), cluster.token
        session = cluster.engine.pid or pid
        register(run_dir, Registration(spec.name, pid, created, session, LOOPBACK, port, token, spec.engine))
        nursery.start_soon(live.run)
        await live.ending.wait()
        with trio.move_on_after(LAST_ANSWERS_S):
            await door.quits()  # whoever asked for the end is told of it
        nursery.cancel_scope.cancel()


async def obey_signals(ending: trio.Event, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """SIGTERM ends the cluster as `down` does."""
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            ending.set()


async def _until_kept(ending: trio.Event) -> None:
    """The starter says that the cluster stays, or is gone."""
    said = b""
    async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as stream:
        while KEEP not in said:
            data = await stream.receive_some(64)
            if not data:
                print("whoever started the cluster is gone: it ends", file=sys.stderr, flush=True)
                ending.set()
                return
            said = said[-len(KEEP) :] + data


def main(arguments: list[str]) -> int:
    """RUN_DIR, with its live.json. Exit code 0, or 70 when it could not go on."""
    run_dir = Path(arguments[0])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))  # while machines come and go
    try:
        spec = read_specification(run_dir)
        with machines_for(spec.run.topology, run_dir, **spec.living) as make_cluster:
            # From here on the event loop obeys SIGTERM; while it ends it cannot bear an exception out of nowhere.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            trio.run(serve, spec, run_dir, make_cluster)
        return 0
    except BaseException as error:
        known = _only(error)
        if isinstance(known, ENDING):
            print(f"faultline: {known}", file=sys.stderr)
        else:
            traceback.print_exception(error)
        return EXIT_CRASHED
    finally:
        unregister(run_dir)


def _only(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
