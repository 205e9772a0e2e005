"""The live player in the simulated world.

Each command is answered, and nothing is left of it.
"""

from typing import Any

import pytest

from emulator.machines.node.specs import machine_for
from emulator.runs.resolve import resolve
from emulator.scenario import scenario_model as m
from emulator.scenario.player.live_player import UNDER_WAY_MAX, WRITES_MAX, LivePlayer
from emulator.scenario.player.live_requests import Command, CommandEnded, Errand, ErrandEnded, WatchNode
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import OBSERVER, Node, three_azs
from emulator.worlds.simulated.latencies import CALM
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.ids import BrokerId, Offset
from protocol.machine import Effect, Machine, Now
from protocol.messages.workload_messages import WorkloadReportsRequest, WorkloadReportsResponse
from tests.ids import brokers


class Reported:
    """The live player, whose answers are kept as the supervisor keeps them."""

    def __init__(self, player: LivePlayer) -> None:
        self.player = player
        self.ended: list[CommandEnded | ErrandEnded] = []

    def step(self, now: Now, event: Any) -> list[Effect]:
        effects = self.player.step(now, event)
        self.ended += [e for e in effects if isinstance(e, CommandEnded | ErrandEnded)]
        return [e for e in effects if not isinstance(e, CommandEnded | ErrandEnded)]


class Bench:
    def __init__(self) -> None:
        topology = three_azs()
        scenario = m.Scenario(
            id="live", title="live", kafka=("2.6",), steps=(), topology=topology,
            settings={"zookeeper.session.timeout.ms": 6000, "auto.create.topics.enable": False},
        )  # fmt: skip
        spec = resolve(scenario).spec
        self.player = LivePlayer(topology, 2, "2.6")
        self.told = Reported(self.player)

        def machine(node: Node, files: MemoryFiles) -> Machine:
            return self.told if node.name == OBSERVER else machine_for(spec, node, files)

        self.world = SimulatedWorld(topology, machine, 1, latencies=CALM)
        self.number = 0
        self.world.start(OBSERVER)
        for node in topology.nodes:
            if node.name != OBSERVER:
                self.world.start(node.name)
                if "broker" in node.roles:
                    self.give(WatchNode(node.name, True))
        self.until(lambda: len(self.player.seen.live) == 3 and self.player.seen.controller is not None)

    def give(self, event: Any) -> None:
        self.world.deliver(self.world.nodes[OBSERVER], event, "command")

    def until(self, holds: Any, limit_ms: float = 60_000.0) -> None:
        end_ms = self.world.now_ms + limit_ms
        self.world.at(end_ms, lambda: None)
        self.world.run(lambda: bool(holds()) or self.world.now_ms >= end_ms)
        assert holds()

    def wait(self, ms: float) -> None:
        end_ms = self.world.now_ms + ms
        self.world.at(end_ms, lambda: None)
        self.world.run(lambda: self.world.now_ms >= end_ms)

    def begin(self, *steps: Any) -> int:
        self.number += 1
        self.give(Command(self.number, steps))
        return self.number

    def answer(self, number: int) -> Any:
        return next((ended for ended in self.told.ended if ended.number == number), None)

    def do(self, *steps: Any, limit_ms: float = 60_000.0) -> CommandEnded:
        number = self.begin(*steps)
        self.until(lambda: self.answer(number), limit_ms)
        ended = self.answer(number)
        assert isinstance(ended, CommandEnded)
        return ended


SERVERS = ("session-0", "session-1", "session-2")


def session_state(bench: Bench) -> str:
    """Of the session in which the player writes; "" without one."""
    writes = bench.player.writes
    return "" if writes is None or writes._client is None else writes._client.state


def create(topic: str = "t") -> m.CreateTopic:
    return m.CreateTopic(topic=topic, assignment=(brokers(0, 1, 2),))


def produce(*values: str, broker: int = 0, acks: int = 1, **more: Any) -> m.Produce:
    return m.Produce(broker=BrokerId(broker), values=values, acks=acks, partition="t-0", **more)


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    assert bench.do(create()).error == ""
    return bench


def test_a_command_is_answered_with_what_it_noted_and_nothing_else_is_kept(bench: Bench) -> None:
    for number in range(50):
        ended = bench.do(produce(f"v{number}"), m.Fetch(broker=BrokerId(0), offset=Offset(0), partition="t-0"))
        attempt, fetched = ended.entries
        assert (attempt["saw"], attempt["value"], attempt["error"], attempt["offset"]) == (
            "attempt", f"v{number}", 0, number
        )  # fmt: skip
        assert fetched["saw"] == "fetch"
    player = bench.player
    assert player.under_way == 0 and player.operations == []
    timeline = player.timeline
    assert not (timeline.entries or timeline.partition_states or timeline.live_brokers or timeline.views)


def test_two_commands_at_once_do_not_share_their_notes(bench: Bench) -> None:
    bench.world.pause("broker-1")
    slow = bench.begin(produce("slow", acks=-1, timeout_ms=3000))
    quick = bench.do(produce("quick"))
    assert bench.answer(slow) is None
    assert [entry["value"] for entry in quick.entries] == ["quick"]
    bench.until(lambda: bench.answer(slow))
    assert [(entry["value"], entry["error"]) for entry in bench.answer(slow).entries] == [("slow", 7)]


def test_what_a_command_has_brought_so_far_can_be_looked_at(bench: Bench) -> None:
    bench.world.pause("broker-1")
    number = bench.begin(produce("a"), produce("b", acks=-1, timeout_ms=3000))
    bench.until(lambda: len(bench.player.noted(number)) == 1)
    assert bench.player.noted(number)[0]["value"] == "a"
    bench.until(lambda: bench.answer(number))
    assert bench.player.noted(number) == ()


def test_commands_beyond_the_bound_are_refused_and_the_others_end(bench: Bench) -> None:
    bench.world.pause("broker-0")
    numbers = [bench.begin(produce("x", socket_timeout_s=2)) for _ in range(UNDER_WAY_MAX + 3)]
    bench.until(lambda: all(map(bench.answer, numbers)))
    refused = [bench.answer(number).error for number in numbers if bench.answer(number).error]
    assert len(refused) == 3 and all(str(UNDER_WAY_MAX) in text for text in refused)
    assert bench.player.under_way == 0


def test_a_topic_that_waits_for_a_quorum_longer_than_a_session_lives_is_created_after_all(bench: Bench) -> None:
    for name in ("session-0", "session-1"):
        bench.world.kill(name)
    numbers = [bench.begin(create(f"u{n}")) for n in range(WRITES_MAX + 1)]
    bench.until(lambda: bench.answer(numbers[-1]))
    assert f"{WRITES_MAX} writes wait" in bench.answer(numbers[-1]).error
    bench.wait(40_000.0)
    for name in ("session-0", "session-1"):
        bench.world.start(name)
    bench.until(lambda: all(f"u{n}-0" in bench.player.seen.states for n in range(WRITES_MAX)), 120_000.0)
    bench.until(lambda: all(map(bench.answer, numbers)), 120_000.0)
    assert bench.do(create("v")).error == ""


def test_a_session_that_expired_in_mid_write_writes_again(bench: Bench) -> None:
    """The supervisor stood still (a laptop that slept).

    The ensemble expired its session before its write.
    """
    world = bench.world
    number = bench.begin(create("w"))
    world.run(lambda: session_state(bench) == "connected")
    world.pause(OBSERVER)
    for name in SERVERS:
        world.kill(name)
        world.start(name)
    bench.wait(60_000.0)
    world.resume(OBSERVER)
    bench.until(lambda: bench.answer(number), 200_000.0)
    assert bench.answer(number).error == "" and "w-0" in bench.player.seen.states
    assert bench.do(create("x")).error == ""


def test_an_impossible_step_has_its_reason(bench: Bench) -> None:
    ended = bench.do(m.Produce(broker=None, values=("x",), acks=1, partition="t-0"))
    assert ended.entries == () and "needs `broker`" in ended.error


def test_a_client_does_an_errand_and_its_death_ends_it(bench: Bench) -> None:
    bench.give(Errand(901, "client-0", WorkloadReportsRequest()))
    bench.until(lambda: bench.answer(901))
    assert bench.answer(901) == ErrandEnded(901, WorkloadReportsResponse([]))
    bench.world.pause("client-0")
    bench.give(Errand(902, "client-0", WorkloadReportsRequest()))
    bench.world.kill("client-0")
    bench.until(lambda: bench.answer(902))
    assert bench.answer(902).answer is None and "client-0" in bench.answer(902).error
    assert bench.player.under_way == 0


def test_a_dead_broker_is_observed_again_when_it_is_back(bench: Bench) -> None:
    bench.world.kill("broker-2")
    bench.give(WatchNode("broker-2", False))
    bench.until(lambda: 2 not in bench.player.seen.metadata)
    bench.world.start("broker-2")
    bench.give(WatchNode("broker-2", True))
    bench.until(lambda: 2 in bench.player.seen.metadata)


def test_a_topic_is_known_to_be_marked_for_deletion_until_it_is_gone() -> None:
    bench = Bench()
    assert bench.do(create()).error == ""
    bench.world.kill("broker-2")
    bench.give(WatchNode("broker-2", False))
    number = bench.begin(m.DeleteTopic(topic="t"))
    bench.until(lambda: bench.player.seen.marked == {"t"} and 2 not in bench.player.seen.live)
    bench.world.start("broker-2")
    bench.give(WatchNode("broker-2", True))
    bench.until(lambda: bench.answer(number))
    bench.until(lambda: not bench.player.seen.marked)
    assert bench.player.seen.topics == frozenset()
