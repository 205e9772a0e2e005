"""A close never overtakes data sent before it, over generated sends, closes and faults.

Two nodes talk over one connection. One of them ends its side: it closes, its process exits, or it is killed. Rules
come and go meanwhile. The other node sees all that was sent before, once and in order, and the end behind it. Only
what a cut or a hold stops when a process has ended dies with the process. In the simulated world; the network world
passes the core of these cases (conformance.py).
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.faults.links import DATA, ORPHAN_TRIES, given_up_at
from emulator.faults.machine_fault_kinds import SlowDisk
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import Node, three_azs
from emulator.worlds.simulated.latencies import CALM, ROUGH
from emulator.worlds.simulated.node import SimulatedNode
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.machine import (
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Input,
    Loss,
    MessageReceived,
    Now,
    Started,
    TimerFired,
)
from protocol.messages.session_messages import PingRequest, PingResponse
from protocol.outbox import Outbox
from protocol.purposes import CLIENT

OPENER, ACCEPTOR = "broker-0", "broker-1"
HEALED_MS = 30_000.0
"""By then no rule is in force; no kernel gives anything up in that time."""
LINKS = ("{0} {1}", "{0} -> {1}", "{1} -> {0}", "opened_by {0} to {1}", "az-0")
KINDS = (
    "cut {link}", "cut {link} --recovery instant", "hold {link}", "delay {link} 50ms 400ms", "delay {link} 5000ms",
    "bandwidth {link} 60B", "loss {link} 60%", "hold {link} --only SessionPing",
    "delay {link} 1000ms --only SessionPing",
)  # fmt: skip


class Fault(msgspec.Struct, frozen=True):
    words: str
    from_ms: float
    to_ms: float


class Standstill(msgspec.Struct, frozen=True):
    """A node is paused for a while, or has a slow disk."""

    node: str
    from_ms: float
    to_ms: float
    slow_disk: bool


class Talk(msgspec.Struct, frozen=True):
    """`says_ms`, `end_ms`: after the connection stands at that node. `end`: close, exit or kill."""

    seed: int
    rough: bool
    says_ms: dict[str, tuple[float, ...]]
    who_ends: str
    end_ms: float
    end: str
    faults: tuple[Fault, ...]
    standstills: tuple[Standstill, ...]


class Talker:
    """Says what it has to say, at its times; keeps what it hears. `ends` "": the other one does."""

    def __init__(self, says_ms: tuple[float, ...], end_ms: float, ends: str, files: MemoryFiles, opens: bool) -> None:
        self._says_ms = says_ms
        self._end_ms = end_ms
        self._ends = ends
        self._files = files
        self._opens = opens
        self._out = Outbox()
        self._connection = 0
        self.said = 0
        self.ended = False
        self.heard: list[int] = []
        self.losses: list[tuple[Loss, int]] = []
        """Losses of its connections, each with the number of messages received by then."""

    def step(self, now: Now, event: Input) -> list[Effect]:
        match event:
            case Started() if self._opens:
                self._out.open(ACCEPTOR, CLIENT, lambda *_: None)
            case ConnectionAccepted(connection) | ConnectionOpened(connection):
                self._connection = connection
                for number, at_ms in enumerate(self._says_ms):
                    self._out.set_timer(("say", number), at_ms, lambda *_: None)
                if self._ends:
                    self._out.set_timer(("end",), self._end_ms, lambda *_: None)
            case MessageReceived(message=PingRequest() | PingResponse()):
                self._files.append("log", b".")  # it takes its time where the disk is slow
                self.heard.append(event.correlation_id)
            case ConnectionLost(loss=loss):
                self._connection = 0
                self.losses.append((loss, len(self.heard)))
            case TimerFired(("say", _)) if self._connection and not self.ended:
                self.said += 1
                message = PingRequest() if self._opens else PingResponse(zxid=self.said)
                self._out.send(self._connection, message, self.said)
            case TimerFired(("end",)) if self._connection:
                self.ended = True
                if self._ends == "close":
                    self._out.close(self._connection)
                elif self._ends == "exit":
                    self._out.exit(0, "has said it")
        return self._out.take()


times_ms = st.floats(0.0, 3_000.0).map(lambda ms: round(ms, 1))
links = st.sampled_from(LINKS).flatmap(
    lambda link: st.sampled_from([link.format(OPENER, ACCEPTOR), link.format(ACCEPTOR, OPENER)])
)
faults = st.builds(
    Fault,
    words=st.builds(lambda kind, link: kind.format(link=link), st.sampled_from(KINDS), links),
    from_ms=st.floats(0.0, 4_000.0),
    to_ms=st.floats(4_000.0, HEALED_MS - 1.0),
)
standstills = st.builds(
    Standstill,
    node=st.sampled_from((OPENER, ACCEPTOR)),
    from_ms=st.floats(0.0, 5_000.0),
    to_ms=st.floats(5_000.0, HEALED_MS - 1.0),
    slow_disk=st.booleans(),
)
talks = st.builds(
    Talk,
    seed=st.integers(0, 1 << 30),
    rough=st.booleans(),
    says_ms=st.fixed_dictionaries(
        {name: st.lists(times_ms, max_size=12).map(lambda each: tuple(sorted(each))) for name in (OPENER, ACCEPTOR)}
    ),
    who_ends=st.sampled_from((OPENER, ACCEPTOR)),
    end_ms=times_ms,
    end=st.sampled_from(("close", "exit", "kill")),
    faults=st.lists(faults, max_size=4).map(tuple),
    standstills=st.lists(standstills, max_size=2).map(tuple),
)


def played(talk: Talk, healed_ms: float = HEALED_MS) -> tuple[dict[str, Talker], SimulatedWorld]:
    topology, talkers = three_azs(), dict[str, Talker]()

    def make(node: Node, files: MemoryFiles) -> Talker:
        ends = talk.end if talk.who_ends == node.name else ""
        says_ms = talk.says_ms.get(node.name, ())
        talkers[node.name] = Talker(says_ms, talk.end_ms, ends, files, node.name == OPENER)
        return talkers[node.name]

    def look(node: SimulatedNode, now_ms: float) -> None:
        talker = talkers[node.node.name]
        if talker.ended and talk.end == "kill" and node.alive:
            # What this very input ordered goes no further: the process is dead before.
            world.kill(node.node.name)

    world = SimulatedWorld(topology, make, talk.seed, latencies=ROUGH if talk.rough else CALM, after_step=look)
    for number, fault in enumerate(talk.faults):
        rule = rule_of(topology, f"rule-{number}", parse(fault.words.split()))
        world.at(fault.from_ms, world.apply, rule)
        world.at(fault.to_ms, heal, world, rule.rule)
    for one in talk.standstills:
        if one.slow_disk:
            world.at(one.from_ms, world.change_hardware, SlowDisk(one.node, operation_ms=150.0))
            world.at(one.to_ms, world.change_hardware, SlowDisk(one.node))
        else:
            world.at(one.from_ms, pause, world, one.node)
            world.at(one.to_ms, resume, world, one.node)
    world.start(ACCEPTOR)
    world.start(OPENER)
    end_ms = healed_ms + 300_000.0
    world.at(end_ms, lambda: None)
    world.run(lambda: world.now_ms >= end_ms)
    return talkers, world


def heal(world: SimulatedWorld, rule: str) -> None:
    world.heal(rule)


def pause(world: SimulatedWorld, name: str) -> None:
    if world.nodes[name].alive:
        world.pause(name)


def resume(world: SimulatedWorld, name: str) -> None:
    if world.nodes[name].paused:
        world.resume(name)


@given(talks)
@settings(max_examples=200, deadline=None)
def test_a_close_never_overtakes_what_was_sent_before_it(talk: Talk) -> None:
    talkers, world = played(talk)
    one = talkers[talk.who_ends]
    other = talkers[ACCEPTOR if talk.who_ends == OPENER else OPENER]
    assert one.ended, "the connection stands once the rules are gone"
    assert other.heard == list(range(1, len(other.heard) + 1)), "once and in order"
    if talk.end == "close" or not any(fault.words.startswith(("cut", "hold")) for fault in talk.faults):
        assert len(other.heard) == one.said, "all of it"
    assert other.losses == [(Loss.CLOSED, len(other.heard))], "and then the end, once"
    assert one.heard == list(range(1, len(one.heard) + 1)), "what it heard before it ended, in order"
    assert not one.losses, "no side sees a loss for its own close"
    assert not any(node.leaving for node in world.nodes.values()), "kernels keep nothing for ever"


def cut_for(ms: float, end: str) -> tuple[Talker, Talker]:
    """A frame and the end of its stream meet a cut."""
    cut = Fault(f"cut {OPENER} {ACCEPTOR}", 100.0, ms)
    talk = Talk(1, False, {OPENER: (200.0,)}, OPENER, 300.0, end, (cut,), ())
    talkers, _ = played(talk, ms)
    return talkers[OPENER], talkers[ACCEPTOR]


def test_a_kernel_gives_up_what_a_process_left_behind_after_a_hundred_seconds() -> None:
    """Linux, tcp_orphan_retries; the peer hears of the end all the same, when the cut is over."""
    gives_up_ms = given_up_at(200.0, DATA._replace(tries=ORPHAN_TRIES))
    assert 102_200.0 < gives_up_ms < 109_000.0
    one, other = cut_for(gives_up_ms - 10_000.0, "close")
    assert other.heard == [1] and other.losses == [(Loss.CLOSED, 1)]
    one, other = cut_for(gives_up_ms + 10_000.0, "close")
    assert one.said == 1 and other.heard == [] and other.losses == [(Loss.CLOSED, 0)]


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_data_behind_a_cut_dies_with_the_process_and_its_end_arrives_after_the_heal(end: str) -> None:
    one, other = cut_for(5_000.0, end)
    assert one.said == 1 and other.heard == [] and other.losses == [(Loss.CLOSED, 0)]


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_cut_takes_what_a_dead_process_has_left_on_a_slow_link(end: str) -> None:
    slow = Fault(f"delay {OPENER} {ACCEPTOR} 2000ms", 100.0, 9_000.0)
    cut = Fault(f"cut {OPENER} {ACCEPTOR}", 1_000.0, 8_000.0)
    for faults_, received in (((slow,), [1]), ((slow, cut), [])):
        talkers, _ = played(Talk(1, False, {OPENER: (200.0,)}, OPENER, 300.0, end, faults_, ()))
        assert talkers[ACCEPTOR].heard == received and talkers[ACCEPTOR].losses == [(Loss.CLOSED, len(received))]


def test_a_process_that_holds_its_connection_is_tried_for_a_quarter_of_an_hour() -> None:
    """And its peer is not left with half a connection for ever."""
    cut = Fault(f"cut {OPENER} {ACCEPTOR}", 100.0, 1_000_000.0)
    talk = Talk(1, False, {OPENER: (200.0,)}, OPENER, 2_000_000.0, "close", (cut,), ())
    talkers, _ = played(talk, 1_000_000.0)
    assert talkers[OPENER].losses == [(Loss.TIMED_OUT, 0)]
    assert talkers[ACCEPTOR].losses == [(Loss.CLOSED, 0)]


@pytest.mark.parametrize(("what", "received"), [("kill", [1]), ("power-loss", [])])
def test_what_waits_at_a_dead_nodes_gate_is_its_kernels(what: str, received: list[int]) -> None:
    """And a machine without power has none."""
    delay = Fault(f"delay {OPENER} {ACCEPTOR} 2000ms", 100.0, 10_000.0)
    talk = Talk(1, False, {OPENER: (200.0,)}, ACCEPTOR, 20_000.0, "close", (delay,), ())
    topology, talkers = three_azs(), dict[str, Talker]()

    def make(node: Node, files: MemoryFiles) -> Talker:
        talkers[node.name] = Talker(talk.says_ms.get(node.name, ()), 0.0, "", files, node.name == OPENER)
        return talkers[node.name]

    world = SimulatedWorld(topology, make, 1)
    rule: Any = rule_of(topology, "rule", parse(delay.words.split()))
    world.at(100.0, world.apply, rule)
    world.at(1_000.0, lambda: world.kill(OPENER, what))
    world.start(ACCEPTOR)
    world.start(OPENER)
    world.at(30_000.0, lambda: None)
    world.run(lambda: world.now_ms >= 30_000.0)
    assert talkers[OPENER].said == 1
    assert talkers[ACCEPTOR].heard == received and talkers[ACCEPTOR].losses == [(Loss.CLOSED, len(received))]
