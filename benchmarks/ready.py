"""Three brokers and three session servers: time to registration, and memory.

From the order to start them until all brokers are registered.

Speed 1; the session servers first, the brokers as soon as these serve, as any launcher does (a broker without a server
pauses for up to a second before it tries the next, as ZooKeeper's client does). Memory is PSS: a page shared by N
processes counts 1/N for each. "Ready" means usable by a client: every broker is registered and an ensemble of three has
a leader.
"""

import statistics
import tempfile
import time
from pathlib import Path

import msgspec
import psutil
import trio

from benchmarks.figure_records import Figure, write
from emulator.machines.node.specs import RunSpec
from emulator.runs.network_run import FACTORY
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.scenario.player.observing import Observing
from emulator.topology import OBSERVER, Topology
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.spec import MachineSpec
from protocol.machine import Effect, Input, Now, Started
from protocol.outbox import Outbox

RUNS = 5
LIMIT_S = 30.0


class Watcher:
    """A machine that ends when every broker is registered."""

    def __init__(self, topology: Topology) -> None:
        self._brokers = {node.number for node in topology.with_role("broker")}
        self._seen = Observing(topology, self._changed)
        self._out = Outbox()
        self._servers = {node.name for node in topology.with_role("session")}
        self.serving = trio.Event()
        self.ready = trio.Event()

    def step(self, now: Now, event: Input) -> list[Effect]:
        if isinstance(event, Started):
            self._seen.start(self._out)
        elif self._out.route(now, event) and self._seen.serving >= self._servers:
            self.serving.set()
        return self._out.take()

    def _changed(self, now: Now, what: str) -> None:
        if self._seen.live >= self._brokers and self._seen.controller is not None:
            self.ready.set()


def with_six_nodes(spec: RunSpec) -> Topology:
    """The topology without its clients."""
    return Topology(tuple(node for node in spec.topology.nodes if "client" not in node.roles))


async def once(directory: Path, kafka: bool) -> tuple[float, float]:
    """(seconds until ready, PSS in MiB). `kafka`: brokers listen for Kafka clients, too."""
    resolved = resolve(find_scenario("az-isolated-leader"))
    topology = with_six_nodes(resolved.spec)
    spec = msgspec.structs.replace(resolved.spec, topology=topology)
    arguments = msgspec.to_builtins(spec)
    names = [node.name for node in topology.nodes if node.name != OBSERVER]
    began = time.perf_counter()
    specs = {name: MachineSpec(FACTORY, arguments) for name in names}
    cluster = Cluster(directory, topology, specs, speed=1.0, kafka=kafka)
    with trio.fail_after(LIMIT_S):
        async with cluster:
            watcher = Watcher(topology)
            await cluster.run_here(OBSERVER, watcher)
            await cluster.start(*(name for name in names if name.startswith("session")))
            await watcher.serving.wait()
            await cluster.start(*(name for name in names if name.startswith("broker")))
            await watcher.ready.wait()
            ready_s = time.perf_counter() - began
            family = psutil.Process(cluster.engine.pid)
            processes = [family, *family.children(recursive=True)]
            pss_mib = sum(process.memory_full_info().pss for process in processes) / 2**20
    return ready_s, pss_mib


def main() -> list[Figure]:
    """Medians of RUNS, with the Kafka listener closed and open."""
    figures: list[Figure] = []
    more: dict[str, object] = {"runs": RUNS}
    for kafka, named in ((False, ""), (True, ", with Kafka listeners")):
        seconds, sizes = [], []
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory(prefix="faultline-") as directory:
                ready_s, pss_mib = trio.run(once, Path(directory), kafka)
            seconds.append(ready_s)
            sizes.append(pss_mib)
        figures += [
            Figure(line=f"three brokers and three ZooKeeper servers ready{named}", value=statistics.median(seconds),
                   unit="s", target=0.5, bound="mostly the start of the process from which the others are forked"),
            Figure(line=f"memory of these{named} (PSS, with the process from which they are forked)",
                   value=statistics.median(sizes), unit="MiB", target=120),
        ]  # fmt: skip
        more |= {f"seconds{named}": seconds, f"pss_mib{named}": sizes}
    write("ready", figures, more)
    return figures
