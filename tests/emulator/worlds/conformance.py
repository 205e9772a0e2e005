"""Conformance suite of both worlds, run against each through a small adapter.

A world's test module defines a fixture `world` that yields a `World` and imports everything from here:

    from tests.emulator.worlds.conformance import *      (see test_network_conformance.py)

Actors are `scripted.ScriptedMachine`s; a test observes only their sightings. A test waits for
conditions, with a limit in scenario time, and has no clock of its own. `Sighting.at_ms` is scenario
time. Bounds on times allow for a real machine's scheduling: they distinguish a heal from a retransmission,
not single microseconds.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import pytest

from emulator.faults.links import SYN, given_up_at, retransmission_at
from emulator.faults.machine_fault_kinds import ClockJump, HardwareFault, SlowDisk
from protocol.framing import encode
from protocol.messages.session_messages import PingRequest

LIMIT_MS = 60_000.0
SLACK_MS = 900.0
"""Maximum lateness on a machine that is punctual, at twenty times the speed."""


class Sighting(NamedTuple):
    at_ms: float
    text: str


class World(Protocol):
    """A running world over `three_azs()`, without started nodes. The caller words the rules."""

    @property
    def slack_ms(self) -> float:
        """Maximum lateness of a sighting so far: SLACK_MS, and more on a busy machine."""

    async def spawn(self, name: str, script: dict[str, Any]) -> None:
        """Start a node that follows the script (fields of scripted.Script); return when it runs."""

    async def respawn(self, name: str) -> None:
        """Start a dead node's next incarnation, with the same script and files."""

    async def cut(self, words: str) -> str:
        """Impose the rule "cut " + words (`emulator.faults.link_words.parse`); return its id.

        The rule is in force on return.
        """

    async def limit(self, words: str) -> str:
        """Impose the rule "bandwidth " + words; return its id."""

    async def impose(self, words: str) -> str:
        """Impose any rule, such as "delay az-0 50ms"; return its id."""

    async def heal(self, rule: str) -> dict[str, int]:
        """Remove the rule; return {node: frames stopped}."""

    async def kill(self, name: str) -> None: ...
    async def stop(self, name: str) -> None: ...
    async def pause(self, name: str) -> None: ...
    async def resume(self, name: str) -> None: ...

    async def change(self, fault: HardwareFault) -> None:
        """Set the state of the machine of a running or stopped node; in force on return."""

    async def lose_power(self, name: str, kept_bytes: int) -> None:
        """Kill the node; `kept_bytes` of its journal survive.

        At least the synced bytes survive, at most the written ones.
        """

    async def until(self, condition: Callable[[], bool], limit_ms: float = LIMIT_MS) -> None:
        """Let time pass until the condition holds.

        Raises AssertionError after `limit_ms` of scenario time.
        """

    def sightings(self, name: str) -> list[Sighting]:
        """All sightings of the node so far, over all its incarnations, in order."""

    def events(self, name: str, event: str) -> list[dict[str, Any]]:
        """The node's events of this name, as flat dictionaries."""

    def now_ms(self) -> float: ...


def texts(world: World, name: str, start: str = "") -> list[str]:
    return [sighting.text for sighting in world.sightings(name) if sighting.text.startswith(start)]


async def seen(world: World, name: str, text: str, count: int = 1, limit_ms: float = LIMIT_MS) -> Sighting:
    """Wait for so many sightings of the node that start with `text`; return the last."""

    def found() -> list[Sighting]:
        return [sighting for sighting in world.sightings(name) if sighting.text.startswith(text)]

    await world.until(lambda: len(found()) >= count, limit_ms)
    return found()[count - 1]


def numbers(world: World, name: str, word: str) -> list[int]:
    return [int(text.split()[1]) for text in texts(world, name, word + " ")]


# --- streams ---


async def test_frames_arrive_once_and_in_order(world: World) -> None:
    await world.spawn("broker-1", {"answers": True})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "burst": 500, "purpose": "fetcher"})
    await seen(world, "broker-0", "answer", 500)
    await seen(world, "broker-1", "got", 500)
    assert numbers(world, "broker-1", "got") == list(range(1, 501))
    assert numbers(world, "broker-0", "answer") == list(range(1, 501))
    assert "accepted broker-0 fetcher" in texts(world, "broker-1")


async def test_what_was_sent_before_a_close_still_leaves(world: World) -> None:
    await world.spawn("broker-1", {"answers": False})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "burst": 200, "close_after": 200})
    await seen(world, "broker-1", "lost theirs closed by peer")
    assert numbers(world, "broker-1", "got") == list(range(1, 201))
    assert not texts(world, "broker-0", "lost"), "no loss is reported to the end that closed"


LINK = "broker-0 broker-1"
PASSING = {
    "delay": f"delay {LINK} 300ms 200ms",
    "delay-there": "delay broker-0 -> broker-1 400ms",
    "delay-back": "delay broker-1 -> broker-0 400ms",
    "bandwidth": f"bandwidth {LINK} 400B",
    "loss": f"loss {LINK} 40%",
}
"""Rules that let everything through by itself, sooner or later."""
STOPPING = {
    "cut": f"cut {LINK}",
    "cut-instant": f"cut {LINK} --recovery instant",
    "cut-there": "cut broker-0 -> broker-1",
    "cut-back": "cut broker-1 -> broker-0",
    "cut-opened": "cut opened_by broker-0 to broker-1",
    "hold": f"hold {LINK}",
    "hold-there": "hold broker-0 -> broker-1",
    "hold-pings": f"hold {LINK} --only {PingRequest.API_NAME}",
}
"""Rules that stop frames until their heal."""
FRAMES = 12
SAYS = {"open_to": ["broker-1"], "every_ms": 300.0}
"""Script that sends slowly enough for a rule to come between two frames, at any speed."""


def rules(*groups: dict[str, str]) -> pytest.MarkDecorator:
    each = {name: words for group in groups for name, words in group.items()}
    return pytest.mark.parametrize("words", each.values(), ids=list(each))


async def played_under(world: World, words: str, script: dict[str, Any], first: str, last: str) -> None:
    """Run broker-0's script to `last` under the rule.

    A rule that lets everything through comes before the start. A rule that needs a heal comes with `first`, and its
    heal a second after `last`.
    """
    if words.startswith(("cut", "hold")):
        await world.spawn("broker-0", {**SAYS, **script})
        await seen(world, "broker-0", first)
        rule = await world.impose(words)
        ended = await seen(world, "broker-0", last)
        await world.until(lambda: world.now_ms() >= ended.at_ms + 1_000.0)
        assert sum((await world.heal(rule)).values()), "the rule had something to stop"
    else:
        await world.impose(words)
        await world.spawn("broker-0", {**SAYS, **script})
        await seen(world, "broker-0", last)


@rules(PASSING, STOPPING)
async def test_a_close_never_overtakes_what_was_sent_before_it(world: World, words: str) -> None:
    """The end that opened the connection closes it."""
    await world.spawn("broker-1", {})
    await played_under(world, words, {"close_after": FRAMES}, "said 3", "closed 1")
    await seen(world, "broker-1", "lost theirs closed by peer")
    assert numbers(world, "broker-1", "got") == list(range(1, FRAMES + 1))
    assert texts(world, "broker-1")[-1] == "lost theirs closed by peer", "and it comes last"
    assert not texts(world, "broker-0", "lost")


@rules(PASSING, STOPPING)
async def test_an_answer_comes_before_the_close_behind_it(world: World, words: str) -> None:
    """The end that accepted the connection closes it: a server that answers and disconnects."""
    await world.spawn("broker-1", {"hangs_up_at": FRAMES})
    await played_under(world, words, {"count": FRAMES}, "answer 3", f"said {FRAMES}")
    await seen(world, "broker-0", "lost ours closed by peer")
    assert numbers(world, "broker-0", "answer") == list(range(1, FRAMES + 1))
    assert texts(world, "broker-0")[-1] == "lost ours closed by peer"


@rules(PASSING)
async def test_what_a_process_sent_before_it_exited_arrives(world: World, words: str) -> None:
    """A kernel, too, sends the contents of a socket's buffer."""
    await world.spawn("broker-1", {"answers": False})
    await played_under(world, words, {"leaves_after": FRAMES}, "", f"said {FRAMES}")
    await seen(world, "broker-1", "lost theirs closed by peer")
    assert numbers(world, "broker-1", "got") == list(range(1, FRAMES + 1))
    assert texts(world, "broker-1")[-1] == "lost theirs closed by peer"


@rules(PASSING)
async def test_the_last_answers_of_a_process_that_exits_arrive(world: World, words: str) -> None:
    await world.spawn("broker-1", {"exit_at": FRAMES})
    await played_under(world, words, {"count": FRAMES}, "", f"said {FRAMES}")
    await seen(world, "broker-0", "lost ours closed by peer")
    assert numbers(world, "broker-0", "answer") == list(range(1, FRAMES + 1))
    await world.until(lambda: bool(world.events("broker-1", "node_stopped")))
    (stopped,) = world.events("broker-1", "node_stopped")
    assert (stopped["code"], stopped["reason"]) == (3, "as the script says")


async def test_a_close_to_a_node_that_stands_still_comes_behind_what_was_sent(world: World) -> None:
    await world.spawn("broker-1", {"answers": False})
    await world.impose(PASSING["delay-there"])
    await world.spawn("broker-0", {**SAYS, "close_after": FRAMES})
    await seen(world, "broker-0", "said 3")
    await world.pause("broker-1")
    closed = await seen(world, "broker-0", "closed 1")
    await world.until(lambda: world.now_ms() >= closed.at_ms + 2_000.0)
    await world.resume("broker-1")
    await seen(world, "broker-1", "lost theirs closed by peer")
    assert numbers(world, "broker-1", "got") == list(range(1, FRAMES + 1))


async def test_a_close_to_a_node_with_a_slow_disk_comes_behind_what_was_sent(world: World) -> None:
    """A pause during a stalled step: frames before and during the pause keep their order."""
    await world.spawn("broker-1", {"answers": False, "journal_every_ms": 100.0})
    await world.change(SlowDisk("broker-1", operation_ms=900.0))
    await world.spawn("broker-0", {**SAYS, "close_after": FRAMES})
    await seen(world, "broker-0", "said 5")
    await world.pause("broker-1")
    closed = await seen(world, "broker-0", "closed 1")
    await world.until(lambda: world.now_ms() >= closed.at_ms + 500.0)
    await world.resume("broker-1")
    await seen(world, "broker-1", "lost theirs closed by peer")
    assert numbers(world, "broker-1", "got") == list(range(1, FRAMES + 1))


# --- timers ---


async def test_timers_fire_in_order_of_their_times(world: World) -> None:
    timers = [["late", 900.0], ["early", 300.0], ["middle", 600.0]]
    await world.spawn("broker-0", {"timers": timers})
    began = await seen(world, "broker-0", "started")
    await seen(world, "broker-0", "timer", 3)
    fired = [sighting for sighting in world.sightings("broker-0") if sighting.text.startswith("timer")]
    assert [sighting.text for sighting in fired] == ["timer early", "timer middle", "timer late"]
    for sighting, due_ms in zip(fired, (300.0, 600.0, 900.0), strict=True):
        assert sighting.at_ms - began.at_ms >= due_ms, "never early"


async def test_a_cancelled_timer_never_fires_even_when_due_at_once(world: World) -> None:
    timers = [["first", 200.0], ["second", 200.0], ["third", 250.0], ["last", 400.0]]
    cancelled = {"timers": timers, "cancelled": ["first", "second", "third"]}
    await world.spawn("broker-0", cancelled)
    await seen(world, "broker-0", "timer last")
    fired = texts(world, "broker-0", "timer")
    assert len(fired) == 2 and fired[0] in ("timer first", "timer second"), fired


# --- loss of connections ---


async def test_a_dead_nodes_port_refuses_at_once(world: World) -> None:
    await world.spawn("broker-1", {})
    await world.kill("broker-1")
    await world.spawn("broker-0", {"open_to": ["broker-1"]})
    began = await seen(world, "broker-0", "started")
    lost = await seen(world, "broker-0", "lost ours REFUSED connection refused")
    assert lost.at_ms - began.at_ms < 1_000.0, "refused, not timed out"


async def test_a_killed_nodes_peers_see_it_and_can_reconnect(world: World) -> None:
    await world.spawn("broker-1", {})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 50.0, "reopen_ms": 200.0})
    await seen(world, "broker-0", "answer 3")
    await world.kill("broker-1")
    await seen(world, "broker-0", "lost ours closed by peer")
    await world.respawn("broker-1")
    await seen(world, "broker-1", "started 2")
    await seen(world, "broker-0", "answer 3", 2)


async def test_a_stop_is_an_input_and_the_machine_decides(world: World) -> None:
    await world.spawn("broker-0", {})
    await world.stop("broker-0")
    assert texts(world, "broker-0")[-1] == "stop"
    (stopped,) = world.events("broker-0", "node_stopped")
    assert (stopped["code"], stopped["reason"]) == (0, "asked to")


# --- cut and heal ---


async def test_a_cut_hides_everything_and_nothing_is_reset(world: World) -> None:
    await world.spawn("broker-1", {})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0})
    await seen(world, "broker-0", "answer 3")
    rule = await world.cut("az-0")
    sent = await seen(world, "broker-0", "said", len(texts(world, "broker-0", "said")) + 20)
    before = len(numbers(world, "broker-1", "got"))
    await seen(world, "broker-0", "said", len(texts(world, "broker-0", "said")) + 10)
    assert len(numbers(world, "broker-1", "got")) == before, "nothing got through"
    assert not texts(world, "broker-0", "lost") and not texts(world, "broker-1", "lost")
    stopped = await world.heal(rule)
    assert stopped["broker-0"] >= 20, "every frame that a rule stopped is counted"
    last = int(sent.text.split()[1])
    await world.until(lambda: last in numbers(world, "broker-1", "got"))
    got = numbers(world, "broker-1", "got")
    assert got == list(range(1, len(got) + 1)), "what was held comes after the heal, once and in order"
    assert [event["rule"] for event in world.events("broker-1", "fault_traffic")] == [rule], "the heal is proved"


async def test_a_node_that_ends_during_a_cut_reports_stopped_frames(world: World) -> None:
    await world.spawn("broker-1", {})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0})
    await seen(world, "broker-0", "answer 3")
    rule = await world.cut("az-0")
    await seen(world, "broker-0", "said", len(texts(world, "broker-0", "said")) + 10)
    await world.stop("broker-0")
    assert texts(world, "broker-0")[-1] == "stop"
    (lasted,) = world.events("broker-0", "fault_lasted")
    assert lasted["rule"] == rule and lasted["frames_stopped"] >= 9


async def test_after_a_heal_data_flows_at_the_next_retransmission(world: World) -> None:
    """TCP's back-off is 0.2, 0.6, 1.5, 3.1 s; after a cut of two seconds data flows at 3.1 s."""
    await world.spawn("broker-1", {})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0})
    await seen(world, "broker-0", "answer 3")
    rule = await world.cut("az-0")
    first = await seen(world, "broker-0", "said", len(texts(world, "broker-0", "said")) + 1)
    await world.until(lambda: world.now_ms() >= first.at_ms + 2_000.0)
    await world.heal(rule)
    healed_ms = world.events("broker-0", "fault_healed")[0]["at_ms"]
    number = int(first.text.split()[1])
    await world.until(lambda: number in numbers(world, "broker-1", "got"))
    arrived = next(s for s in world.sightings("broker-1") if s.text == f"got {number}")
    expected_ms = retransmission_at(first.at_ms, healed_ms)
    assert expected_ms - 50.0 <= arrived.at_ms <= expected_ms + world.slack_ms, (first, healed_ms, arrived)


async def test_a_connection_is_opened_when_its_syn_is_repeated(world: World) -> None:
    """A SYN is repeated after 1, 2, 3, 4, 5, 7 s."""
    await world.spawn("broker-1", {})
    rule = await world.cut("az-1")
    await world.spawn("broker-0", {"open_to": ["broker-1"]})
    began = await seen(world, "broker-0", "started")
    await world.until(lambda: world.now_ms() >= began.at_ms + 1_500.0)
    assert not texts(world, "broker-0", "opened")
    await world.heal(rule)
    opened = await seen(world, "broker-0", "opened")
    healed_ms = world.events("broker-0", "fault_healed")[0]["at_ms"]
    expected_ms = retransmission_at(began.at_ms, healed_ms, SYN)
    assert expected_ms - 50.0 <= opened.at_ms <= expected_ms + world.slack_ms, (began, healed_ms, opened)


async def test_an_unanswered_connection_times_out(world: World) -> None:
    await world.spawn("broker-1", {})
    await world.cut("az-1")
    await world.spawn("broker-0", {"open_to": ["broker-1"]})
    began = await seen(world, "broker-0", "started")
    lost = await seen(world, "broker-0", "lost ours TIMED_OUT connection timed out", limit_ms=140_000.0)
    expected_ms = given_up_at(began.at_ms, SYN)
    assert expected_ms - 1_000.0 <= lost.at_ms <= expected_ms + world.slack_ms, "5 x 1 + 2 + 4 + ... + 64 s"


async def test_a_death_behind_a_cut_shows_after_the_heal(world: World) -> None:
    await world.spawn("broker-1", {})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0})
    await seen(world, "broker-0", "answer 3")
    rule = await world.cut("az-1")
    await world.kill("broker-1")
    sent = len(texts(world, "broker-0", "said"))
    await seen(world, "broker-0", "said", sent + 10)
    assert not texts(world, "broker-0", "lost"), "the FIN vanished in the cut"
    await world.heal(rule)
    await seen(world, "broker-0", "lost ours closed by peer")


async def test_a_link_between_brokers_is_their_ports_alone(world: World) -> None:
    """`cut link` stops fetchers and clients; session traffic between the same machines passes."""
    await world.spawn("broker-1", {})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0, "purpose": "session"})
    await world.spawn("broker-2", {"open_to": ["broker-1"], "every_ms": 100.0, "purpose": "fetcher"})
    await seen(world, "broker-0", "answer 3")
    await seen(world, "broker-2", "answer 3")
    await world.cut("broker-0 broker-1")
    await world.cut("broker-2 broker-1")
    answers = len(texts(world, "broker-2", "answer"))
    await seen(world, "broker-0", "answer", len(texts(world, "broker-0", "answer")) + 20)
    assert len(texts(world, "broker-2", "answer")) <= answers + 1, "one answer may have been on its way"


async def test_connections_opened_the_other_way_work(world: World) -> None:
    """`opened_by broker-0 to broker-1`: only packets to broker-1 on what broker-0 opened vanish."""
    await world.spawn("broker-1", {"open_to": ["broker-0"], "every_ms": 100.0, "reopen_ms": 100.0})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0})
    await seen(world, "broker-0", "answer 3")
    await seen(world, "broker-1", "answer 3")
    await world.cut("opened_by broker-0 to broker-1")
    answers = len(texts(world, "broker-0", "answer"))
    await seen(world, "broker-1", "answer", len(texts(world, "broker-1", "answer")) + 20)
    assert len(texts(world, "broker-0", "answer")) <= answers + 1


async def test_one_way_lets_the_other_way_through(world: World) -> None:
    await world.spawn("broker-1", {"answers": True})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0})
    await seen(world, "broker-0", "answer 3")
    await world.cut("broker-1 -> broker-0")
    got = len(texts(world, "broker-1", "got"))
    answers = len(texts(world, "broker-0", "answer"))
    await seen(world, "broker-1", "got", got + 20)
    assert len(texts(world, "broker-0", "answer")) <= answers + 1


async def test_a_link_of_little_bandwidth_lets_one_frame_through_after_the_other(world: World) -> None:
    """A second each, in both directions; afterwards at once."""
    size_bytes = len(encode(PingRequest(), 1))
    await world.spawn("broker-1", {"answers": False})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0})
    await seen(world, "broker-0", "said 3")
    rule = await world.limit(f"broker-0 broker-1 {size_bytes}B")
    before = len(texts(world, "broker-1", "got"))
    await seen(world, "broker-1", "got", before + 8)
    got = [sighting.at_ms for sighting in world.sightings("broker-1") if sighting.text.startswith("got")]
    slow = got[before + 2 : before + 8]  # what was on its way came first
    assert min(gaps(slow)) > 1_000.0 - world.slack_ms and slow[-1] - slow[0] >= 5_000.0 - world.slack_ms
    assert (await world.heal(rule))["broker-0"] >= 5
    first = len(texts(world, "broker-0", "said")) + 1
    await seen(world, "broker-1", f"got {first + 5}")
    assert numbers(world, "broker-1", "got") == list(range(1, len(numbers(world, "broker-1", "got")) + 1))


async def test_a_reset_ends_a_connection_at_both_ends_once(world: World) -> None:
    """The opener connects again, and the new connection stays."""
    await world.spawn("broker-1", {})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0, "reopen_ms": 100.0})
    await seen(world, "broker-0", "answer 3")
    rule = await world.impose("reset broker-0 broker-1")
    await seen(world, "broker-0", "lost ours closed by peer")
    await seen(world, "broker-1", "lost theirs RESET")
    await seen(world, "broker-1", "accepted broker-0", 2)
    answers = len(texts(world, "broker-0", "answer"))
    await seen(world, "broker-0", "answer", answers + 20)
    assert len(texts(world, "broker-0", "lost")) == len(texts(world, "broker-1", "lost")) == 1
    stopped = await world.heal(rule)
    assert (stopped["broker-0"], stopped["broker-1"]) == (0, 1), "the accepting end resets"


async def test_a_reset_at_an_age_ends_later_connections_too(world: World) -> None:
    await world.spawn("broker-1", {})
    await world.impose("reset broker-1 -> broker-0 2000ms")
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0, "reopen_ms": 100.0})
    await seen(world, "broker-1", "lost theirs RESET", 3)
    accepted = [one.at_ms for one in world.sightings("broker-1") if one.text.startswith("accepted")]
    lost = [one.at_ms for one in world.sightings("broker-1") if one.text.startswith("lost")]
    ages = [end - begin for begin, end in zip(accepted, lost, strict=False)]
    assert all(2_000.0 - world.slack_ms <= age_ms <= 2_000.0 + world.slack_ms for age_ms in ages), ages


async def test_a_reset_spares_other_links_and_connections_that_the_other_end_opened(world: World) -> None:
    await world.spawn("broker-1", {})
    await world.spawn("broker-2", {})
    await world.spawn("broker-0", {"open_to": ["broker-1", "broker-2"], "every_ms": 100.0})
    await seen(world, "broker-0", "answer 3")
    await world.impose("reset opened_by broker-1 to broker-0")
    await world.impose("reset broker-0 session")
    await seen(world, "broker-0", "answer", len(texts(world, "broker-0", "answer")) + 20)
    assert not texts(world, "broker-0", "lost")


async def test_a_cut_hides_a_reset_from_the_other_end(world: World) -> None:
    await world.spawn("broker-1", {})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0})
    await seen(world, "broker-0", "answer 3")
    cut = await world.cut("broker-0 broker-1 --recovery instant")
    await world.impose("reset broker-0 broker-1")
    lost = await seen(world, "broker-1", "lost theirs RESET")
    await world.until(lambda: world.now_ms() >= lost.at_ms + 2_000.0)
    assert not texts(world, "broker-0", "lost")
    await world.heal(cut)
    await seen(world, "broker-0", "lost")


async def test_a_node_has_the_rules_in_force_before_its_first_connection(world: World) -> None:
    await world.spawn("broker-1", {})
    await world.cut("az-0")
    await world.spawn("broker-0", {"open_to": ["broker-1", "session-0"]})
    await world.spawn("session-0", {})
    in_force = world.events("broker-0", "fault_in_force")
    assert len(in_force) == 1 and in_force[0]["seq"] <= 2, "before the machine's first input"
    began = await seen(world, "broker-0", "started")
    await world.until(lambda: world.now_ms() >= began.at_ms + 2_000.0)
    assert not texts(world, "broker-1", "accepted")


# --- pause and power ---


async def test_a_paused_node_is_still_there_and_goes_on(world: World) -> None:
    """SIGSTOP: connections persist and the kernel accepts new ones.

    The node handles the frames of the pause when it resumes.
    """
    await world.spawn("broker-1", {})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0})
    await seen(world, "broker-0", "answer 3")
    await world.pause("broker-1")
    paused_at = len(texts(world, "broker-1", "got"))
    await seen(world, "broker-0", "said", len(texts(world, "broker-0", "said")) + 20)
    assert not texts(world, "broker-0", "lost")
    assert len(texts(world, "broker-1", "got")) <= paused_at + 1
    await world.resume("broker-1")
    await seen(world, "broker-1", "got", paused_at + 20)
    got = numbers(world, "broker-1", "got")
    assert got == list(range(1, len(got) + 1))


async def test_a_kill_keeps_what_was_written(world: World) -> None:
    await world.spawn("broker-0", {"journal_every_ms": 50.0})
    await seen(world, "broker-0", "journal 5")
    await world.kill("broker-0")
    written = max(int(text.split()[1]) for text in texts(world, "broker-0", "journal"))
    await world.respawn("broker-0")
    found = await seen(world, "broker-0", "started 2")
    assert int(found.text.split()[-1]) >= written


async def test_power_loss_keeps_what_was_synced(world: World) -> None:
    await world.spawn("broker-0", {"journal_every_ms": 50.0, "journal_syncs_until": 3})
    await seen(world, "broker-0", "journal 8")
    await world.lose_power("broker-0", kept_bytes=5)
    await world.respawn("broker-0")
    found = await seen(world, "broker-0", "started 2")
    assert found.text == "started 2 journal 5"


# --- machines that are not as they should be ---


async def journalled(world: World, name: str, steps: int) -> list[float]:
    """Times of the next journal entries after the first one; each entry is its own step."""
    before = len(texts(world, name, "journal"))
    await seen(world, name, "journal", before + steps)
    return [sighting.at_ms for sighting in world.sightings(name) if sighting.text.startswith("journal")][before + 1 :]


def gaps(times_ms: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times_ms)]


async def test_a_slow_disk_holds_a_step_and_what_it_orders(world: World) -> None:
    """The slow disk persists over the node's next incarnation."""
    await world.spawn("broker-0", {"journal_every_ms": 50.0})
    await seen(world, "broker-0", "journal 3")
    await world.change(SlowDisk("broker-0", operation_ms=2_000.0))
    assert min(gaps(await journalled(world, "broker-0", 4))) >= 2_050.0
    await world.kill("broker-0")
    await world.respawn("broker-0")
    assert min(gaps(await journalled(world, "broker-0", 3))) >= 2_050.0
    await world.change(SlowDisk("broker-0"))
    assert min(gaps(await journalled(world, "broker-0", 6))) < 2_000.0


async def test_a_disk_that_is_slow_to_sync_lets_all_else_pass(world: World) -> None:
    await world.spawn("broker-0", {"journal_every_ms": 50.0, "journal_syncs_until": 4})
    await world.change(SlowDisk("broker-0", fsync_ms=2_000.0))
    await seen(world, "broker-0", "journal 8")
    journal_ms = {text.text: text.at_ms for text in world.sightings("broker-0")}
    assert journal_ms["journal 4"] - journal_ms["journal 3"] >= 2_050.0
    assert journal_ms["journal 8"] - journal_ms["journal 4"] < 2_000.0


async def test_a_dead_nodes_disk_can_be_made_slow(world: World) -> None:
    await world.spawn("broker-0", {"journal_every_ms": 50.0})
    await world.kill("broker-0")
    await world.change(SlowDisk("broker-0", operation_ms=2_000.0))
    await world.respawn("broker-0")
    assert min(gaps(await journalled(world, "broker-0", 3))) >= 2_050.0


async def test_what_comes_to_a_node_with_a_slow_disk_waits_and_keeps_its_order(world: World) -> None:
    await world.spawn("broker-1", {"journal_every_ms": 100.0})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 50.0})
    await world.change(SlowDisk("broker-1", operation_ms=1_000.0))
    await seen(world, "broker-0", "answer 60")
    assert numbers(world, "broker-0", "answer") == list(range(1, len(numbers(world, "broker-0", "answer")) + 1))
    assert not texts(world, "broker-0", "lost")


async def test_a_wall_clock_jumps_and_timers_do_not_notice(world: World) -> None:
    """It jumps by the given time, also backwards, for the next incarnation, too, at one node."""
    for name in ("broker-0", "broker-1"):
        await world.spawn(name, {"journal_every_ms": 50.0, "tells_wall": True})

    async def ahead_ms(name: str) -> int:
        before = len(texts(world, name, "wall"))
        await seen(world, name, "wall", before + 2)
        return int(texts(world, name, "wall")[-1].split()[1])

    right_ms = await ahead_ms("broker-0")
    await world.change(ClockJump("broker-0", jump_ms=3_600_000.0))
    assert await ahead_ms("broker-0") == right_ms + 3_600_000
    assert await ahead_ms("broker-1") == right_ms
    assert max(gaps(await journalled(world, "broker-0", 4))) < 50.0 + world.slack_ms
    await world.kill("broker-0")
    await world.respawn("broker-0")
    assert await ahead_ms("broker-0") == right_ms + 3_600_000
    await world.change(ClockJump("broker-0", jump_ms=-3_700_000.0))
    assert await ahead_ms("broker-0") == right_ms - 100_000
