"""Throughput of produces with acks=all on three replicas, with real processes at speed 1.

Two phases: single records in turn, and large batches. The player's own process sends the load through ordinary
connections to the leader, so it uses the same two cores.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import trio

from benchmarks.figure_records import Figure, write
from emulator.machines.node.restarts import Roster
from emulator.runs.network_run import FACTORY, FaultExecutor
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.scenario import scenario_model as m
from emulator.scenario.player.player import Player
from emulator.scenario.player.tasks import Order, Steps
from emulator.topology import OBSERVER, broker_name
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.spec import MachineSpec
from protocol.machine import ConnectionEvent, ConnectionLost, MessageReceived, Now
from protocol.messages.replication_messages import ProducePartition, ProduceRequest, ProduceResponse
from protocol.outbox import Outbox
from protocol.purposes import CLIENT
from protocol.records.batch import encode_batch

SINGLE_CONNECTIONS = 2
SINGLE_S = 6.0
BATCH_CONNECTIONS = 3
BATCH_BYTES = 900_000
BATCH_S = 6.0
RECORD = b"x" * 100


class Load:
    """One phase: `connections` in a closed loop for `seconds`. Latencies in ms."""

    def __init__(self, connections: int, seconds: float, batch: bytes, records: int) -> None:
        self.connections = connections
        self.seconds = seconds
        self.batch = batch
        self.records = records
        self.latencies_ms: list[float] = []
        self.began_ms = 0.0
        self.ended_ms = 0.0


class LoadPlayer(Player):
    """Plays the start of a scenario, then the loads."""

    def __init__(self, resolved: Resolved, steps: tuple[m.AnyStep, ...], loads: list[Load]) -> None:
        super().__init__(resolved.spec.topology, steps, resolved.record_magic, resolved.spec.kafka_version)
        self.loads = loads
        self._sent: dict[int, float] = {}
        self._load: Load | None = None
        self._done: Callable[[Any], None] | None = None

    def _play(self) -> Steps:
        yield from super()._play()
        for load in self.loads:
            yield self._run_load(load)

    def _run_load(self, load: Load) -> Order:
        def begin(done: Callable[[Any], None]) -> None:
            self._load, self._done = load, done
            load.began_ms = self.now.mono_ms
            for _ in range(load.connections):
                self._sent[self.out.open(broker_name(0), CLIENT, self._input)] = -1.0

        return Order("the end of the load", begin)

    def _input(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        assert not isinstance(event, ConnectionLost) and self._load is not None
        load = self._load
        if isinstance(event, MessageReceived):
            assert isinstance(event.message, ProduceResponse) and event.message.partitions[0].error == 0, event
            load.latencies_ms.append(now.mono_ms - self._sent[event.connection])
        if now.mono_ms - load.began_ms < load.seconds * 1000.0:
            self._sent[event.connection] = now.mono_ms
            self.out.send(event.connection, ProduceRequest(-1, 30_000, [ProducePartition("t", 0, load.batch)]), 1)
        else:
            load.ended_ms = now.mono_ms
            self.out.close(event.connection)
            del self._sent[event.connection]
            if not self._sent and self._done is not None:
                done, self._done = self._done, None
                done(None)


async def play(loads: list[Load], directory: Path) -> None:
    scenario = find_scenario("az-isolated-leader")
    resolved = resolve(scenario, "2.6")
    steps = tuple(step for step in scenario.steps if isinstance(step, m.Start | m.CreateTopic))
    player = LoadPlayer(resolved, (*steps, m.Sleep(seconds=2)), loads)
    arguments = msgspec.to_builtins(resolved.spec)
    names = [node.name for node in resolved.spec.topology.nodes if node.name != OBSERVER]
    specs = {name: MachineSpec(FACTORY, arguments) for name in names}
    cluster = Cluster(directory, resolved.spec.topology, specs, speed=1.0, levels=("client", "replica"))
    with trio.fail_after(120):
        async with cluster:
            executor = FaultExecutor(cluster, directory, 1, Roster(resolved.spec))
            here = await cluster.run_here(OBSERVER, player, executor.do)
            await here.ended.wait()
            assert player.finished and not here.crashed, here.exit


def main() -> list[Figure]:
    """One run of both phases."""
    now_ms = int(time.time() * 1000)
    single = Load(SINGLE_CONNECTIONS, SINGLE_S, encode_batch([RECORD], timestamp_ms=now_ms), 1)
    count = BATCH_BYTES // (len(RECORD) + 10)
    batch = encode_batch([RECORD] * count, timestamp_ms=now_ms)
    batched = Load(BATCH_CONNECTIONS, BATCH_S, batch, count)
    with tempfile.TemporaryDirectory(prefix="faultline-") as directory:
        trio.run(play, [single, batched], Path(directory))
    seconds = (single.ended_ms - single.began_ms) / 1000.0
    rate = len(single.latencies_ms) / seconds
    megabytes = len(batched.latencies_ms) * len(batch) / 1e6 / ((batched.ended_ms - batched.began_ms) / 1000.0)
    bound = "four processes share two cores; every record crosses six event loops"
    figures = [
        Figure(line="acks=all, three replicas, single records", value=rate, unit="records/s", target=500, stretch=1000,
               higher_is_better=True, bound=bound),
        Figure(line="median latency of these", value=statistics.median(single.latencies_ms), unit="ms", target=5,
               stretch=2, bound=bound),
        Figure(line="acks=all, three replicas, batched", value=megabytes, unit="MB/s", target=20, stretch=40,
               higher_is_better=True, bound=bound),
    ]  # fmt: skip
    write("produce", figures, {"batch_bytes": len(batch), "records_per_batch": count})
    return figures
