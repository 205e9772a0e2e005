"""Clients against the emulator's own brokers, in the simulated world.
What no fake can vouch for.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from emulator.machines.client.client_node import ClientNode
from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_requests import ClientRequests
from emulator.machines.client.client_settings import ProducerSettings, librdkafka_settings, producer_settings
from emulator.machines.client.client_state import Failure, Sent
from emulator.machines.client.producer import Producer
from emulator.machines.node.specs import machine_for
from emulator.packaged import GOLDEN
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.scenario import scenario_model as m
from emulator.scenario.player.player import Player
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import OBSERVER, Node, Topology
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.chance import Chance
from protocol.events import OperationEnded, OperationInvoked, RecordsRead
from protocol.ids import Offset
from protocol.machine import Effect, Input, Machine, Now, Started
from protocol.messages.message_base import Message
from protocol.messages.workload_messages import (
    StartWorkloadRequest,
    StartWorkloadResponse,
    StopWorkloadRequest,
    StopWorkloadResponse,
    WorkloadReport,
    WorkloadSpec,
)
from protocol.outbox import Outbox

BROKERS = ["broker-0", "broker-1", "broker-2"]


class LibraryProducer:
    """A process with one producer, that writes `values` at a time."""

    def __init__(self, settings: ProducerSettings, at_ms: float, values: list[bytes]) -> None:
        self.producer = Producer("p", BROKERS, OperationLog("library", 1), settings, Chance(3))
        self.results: list[Sent] = []
        self._at_ms = at_ms
        self._values = values
        self._out = Outbox()

    def step(self, now: Now, event: Input) -> list[Effect]:
        match event:
            case Started():
                self._out.set_timer(("go",), self._at_ms, self._go)
            case _:
                self._out.route(now, event)
        return self._out.take()

    def _go(self, now: Now, out: Outbox) -> None:
        for value in self._values:
            self.producer.send(now, out, "t", 0, value, lambda _n, _o, sent: self.results.append(sent))


class Asker:
    """A caller outside every AZ: orders {time in ms: (client, request)}."""

    def __init__(self, orders: dict[int, tuple[str, Message]]) -> None:
        self.answers: list[Message | Failure] = []
        self._orders = orders
        self._asker = ClientRequests()
        self._out = Outbox()

    def step(self, now: Now, event: Input) -> list[Effect]:
        match event:
            case Started():
                for at_ms, (client, request) in self._orders.items():
                    self._out.set_timer(("ask", at_ms), at_ms, partial(self._ask, client, request))
            case _:
                self._out.route(now, event)
        return self._out.take()

    def _ask(self, client: str, request: Message, now: Now, out: Outbox) -> None:
        self._asker.ask(out, client, request, lambda _n, _o, answer: self.answers.append(answer))


def play(
    recording: str, version: str, more: dict[Node, Callable[[], Machine]], seed: int = 1
) -> tuple[SimulatedWorld, Player]:
    """The script of a recording, with more processes around it.
    library-produce becomes a pause, and the end waits.
    """
    scenario = find_scenario(str(GOLDEN / f"{recording}@{version}" / "1.json"))
    steps = tuple(m.Sleep(seconds=20) if isinstance(s, m.LibraryProduce) else s for s in scenario.steps)
    steps += (m.Sleep(seconds=10),)
    old = [node for node in scenario.topology.nodes if "client" not in node.roles]
    topology = Topology((*old, *more))
    resolved = resolve(msgspec.structs.replace(scenario, steps=steps, topology=topology), version)
    player = Player(topology, steps, resolved.record_magic, resolved.spec.kafka_version)

    def factory(node: Node, files: MemoryFiles) -> Machine:
        if node.name == OBSERVER:
            return player
        return more[node]() if node in more else machine_for(resolved.spec, node, files)

    world = SimulatedWorld(topology, factory, seed)
    world.start(OBSERVER)
    world.run(lambda: player.finished)
    assert player.finished
    return world, player


def log_of(player: Player) -> list[bytes]:
    """Records of t-0 as the player's last snapshot has them, the same on every broker."""
    snapshot = [entry for entry in player.timeline.entries if entry.get("saw") == "snapshot"][-1]
    logs = [[value.encode() for _, _, value in replica["log"]] for replica in snapshot["replicas"].values()]
    assert logs == [logs[0]] * len(logs)
    return logs[0]


JAVA = {"acks": "all", "request.timeout.ms": 1500, "delivery.timeout.ms": 60_000}
LIBRDKAFKA = {"acks": -1, "request.timeout.ms": 1500, "message.timeout.ms": 60_000, "retry.backoff.ms": 100}


def settings_of(library: str, idempotent: bool) -> ProducerSettings:
    """As the recording retry-idempotent@2.8 has them, or their like for a Java client."""
    if library == "java":
        return producer_settings("2.8", JAVA | {"enable.idempotence": idempotent})
    return librdkafka_settings(LIBRDKAFKA | {"linger.ms": 0, "enable.idempotence": idempotent})


@pytest.mark.parametrize("library", ["java", "librdkafka"])
@pytest.mark.parametrize("idempotent", [True, False])
def test_retries_against_a_parked_write_leave_one_copy_or_many(library: str, idempotent: bool) -> None:
    """Recording retry-idempotent@2.8: success with the first copy's offset.
    Without idempotence a copy per attempt.
    """
    node = LibraryProducer(settings_of(library, idempotent), 9000, [b"c"])
    _, player = play("retry-idempotent", "2.8", {Node("library", ("client",), 0, ""): lambda: node})
    (sent,) = node.results
    log = log_of(player)
    assert log[:2] == [b"a", b"b"]
    assert (sent.error, sent.outcome) == (0, "ok")
    if idempotent:
        assert (sent.offset, log[2:]) == (2, [b"c"]), "the recording's result: [[null, 2]]"
    else:
        assert sent.offset == len(log) - 1, "it is answered with the last copy's offset"
        assert len(log) > 5
        assert set(log[2:]) == {b"c"}


@pytest.mark.parametrize("version", ["1.1", "2.6", "2.8"])
def test_workloads_go_on_through_a_cut_and_lose_track_of_nothing(version: str) -> None:
    """az-isolated-leader with a producer and a consumer in the isolated AZ.
    Another consumer is elsewhere.
    """
    spec: dict[str, Any] = {"topic": "t", "partitions": [0]}
    produce = WorkloadSpec(name="w", kind="produce", rate_per_s=20.0, settings={"request.timeout.ms": 2000}, **spec)
    read = WorkloadSpec(name="r", kind="consume", offset=Offset(0), settings={"request.timeout.ms": 3000}, **spec)
    asker = Asker(
        {
            6_000: ("client-0", StartWorkloadRequest(read)),
            6_001: ("client-2", StartWorkloadRequest(read)),
            6_002: ("client-0", StartWorkloadRequest(produce)),
            16_000: ("client-0", StopWorkloadRequest("w")),
            40_000: ("client-0", StopWorkloadRequest("r")),
            40_001: ("client-2", StopWorkloadRequest("r")),
        }
    )
    world, _ = play(
        "az-isolated-leader",
        version,
        {
            Node("client-0", ("client",), 0, "az-0"): lambda: ClientNode("client-0", BROKERS, [], version),
            Node("client-2", ("client",), 2, "az-2"): lambda: ClientNode("client-2", BROKERS, [], version),
            Node("asker", ("client",), 3, ""): lambda: asker,
        },
    )
    assert asker.answers[:3] == [StartWorkloadResponse()] * 3
    reports = [answer.report for answer in asker.answers[3:] if isinstance(answer, StopWorkloadResponse)]
    written = next(report for report in reports if report is not None and report.kind == "produce")
    assert written.sent == written.ok + written.failed + written.unknown
    assert written.sent == 200
    reads: list[WorkloadReport] = [report for report in reports if report is not None and report.kind == "consume"]
    assert len(reads) == 2
    assert all(report.read > 0 for report in reads)
    events = [(node, event) for node, _, _, _, _, event in world.trace.entries if node.startswith("client-")]
    invoked = [event.operation for _, event in events if isinstance(event, OperationInvoked)]
    ended = [event.operation for _, event in events if isinstance(event, OperationEnded)]
    assert sorted(invoked) == sorted(ended)
    for client in ("client-0", "client-2"):
        offsets = [
            (e.base_offset, e.last_offset) for node, e in events if node == client and isinstance(e, RecordsRead)
        ]
        ends = [last + 1 for _, last in offsets]
        assert all(base <= end for (base, _), end in zip(offsets[1:], ends, strict=False)), "no gaps"
