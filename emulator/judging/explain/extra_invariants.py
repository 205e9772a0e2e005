"""Promises without trace in final logs: behaviour that only events show.

In the versions that have its rule, `behaviour_rule` has the rule of docs/semantics.md that explains a finding.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf

import msgspec

from emulator.faults.machine_fault_kinds import SILENT_ENDS
from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.history_builder import TimedEvent
from emulator.judging.explain.run_history import History, Stated
from emulator.topology import node_name
from protocol.events import (
    Event,
    FaultHealed,
    FaultInForce,
    IsrChangeEnded,
    LogTruncated,
    MachineFault,
    NodeStopped,
    ZnodeChanged,
)
from protocol.gates import Gates
from protocol.ids import BrokerId, LeaderEpoch, TopicPartition, topic_partition_text
from protocol.kinds import CutReason
from protocol.znodes import BROKER_IDS, CONTROLLER, decode_controller

REFUSED = "1.6 (KAFKA-2729): a leader whose version is outdated tries its ISR write for ever"
DEAD_IN_ISR = "4.1 (KAFKA-3143): a new controller leaves dead replicas in the ISR"
DEAD_JOINS = "8 (KAFKA-14140): a dead replica joins the ISR, as its leader asks late"
THROWN_AWAY = "2.3 (KAFKA-2477): a follower out of range throws its log away though its leader has all of it"
REFUSED_MS = 3_000.0
"""Time from a leader's first refusal to its last one with the same version."""
DEAD_MS = 8_000.0
"""Time after a controller's election, at which it has long read the live brokers."""


BEHAVIOURS = ("refused", "thrown-away", "dead-in-isr")


def forbidden_behaviour(events: Iterable[TimedEvent], history: History) -> Iterator[Broken]:
    """Findings of a run. `events` in order of time."""
    run_events = list(events)
    known, end_ms = [one for one in run_events if type(one[5]) in WANTED], run_events[-1][4]
    for text in _refused(known):
        yield Broken("refused", text)
    for text in _thrown_away(known):
        yield Broken("thrown-away", text)
    for text, joined in _dead_in_isr(known, history, end_ms):
        yield Broken("dead-in-isr", text, joined=joined)


def behaviour_rule(gates: Gates, broken: Broken) -> str:
    """The rule of the versions that have it; "": none."""
    match broken.what:
        case "refused":
            return "" if gates.alter_isr else REFUSED
        case "thrown-away":
            return THROWN_AWAY if gates.out_of_range_starts_over else ""
        case _:
            left = "" if gates.startup_offlines_dead_replicas else DEAD_IN_ISR
            return DEAD_JOINS if broken.joined else left


WANTED: frozenset[type[Event]] = frozenset(
    {FaultHealed, FaultInForce, IsrChangeEnded, LogTruncated, MachineFault, NodeStopped, ZnodeChanged}
)


def _refused(events: list[TimedEvent]) -> Iterator[str]:
    """Repeated refusals in one leader epoch without a successful change in between."""
    first: dict[tuple[str, int, TopicPartition, int], float] = {}
    for node, incarnation, _, _, at_ms, event in events:
        if not isinstance(event, IsrChangeEnded):
            continue
        key = (node, incarnation, (event.topic, event.partition), event.leader_epoch)
        if event.result != "bad-version":
            first.pop(key, None)
        elif at_ms - first.setdefault(key, at_ms) > REFUSED_MS:
            leads = f"{node}, leader of {topic_partition_text(*key[2])} in epoch {event.leader_epoch}"
            yield f"{leads}, asks in vain for another ISR, again and again"
            first[key] = inf


def _thrown_away(events: list[TimedEvent]) -> Iterator[str]:
    for node, *_, event in events:
        if isinstance(event, LogTruncated) and event.reason == CutReason.FULL and event.effective:
            where = topic_partition_text(event.topic, event.partition)
            yield f"{node} threw its log of {where} away, {event.log_end} records, and no leader has begun beyond 0"


class _Term(msgspec.Struct, frozen=True):
    """A term of the controller `node` without any other disturbance."""

    node: str
    since_ms: float
    until_ms: float
    registered: frozenset[int]
    """Brokers registered all the time."""
    absent: frozenset[int]
    """Brokers absent all the time, also at the election, though registered before."""


def _dead_in_isr(events: list[TimedEvent], history: History, end_ms: float) -> Iterator[tuple[str, bool]]:
    """(description, whether the leader has requested it since the controller's election)."""
    for term in _quiet_terms(events, end_ms):
        for topic_partition, stated in history.states.items():
            for state, until_ms in _lasting(stated, term.until_ms):
                begun_ms, dead = max(state.at_ms, term.since_ms), term.absent.intersection(state.state.isr)
                lasted_ms = min(until_ms, term.until_ms) - begun_ms
                if dead and lasted_ms > DEAD_MS and state.state.leader in term.registered:
                    joined = dead <= _joined(stated, state, term.since_ms)
                    what = "lets it into" if joined else "leaves it in"
                    where = topic_partition_text(*topic_partition)
                    names = ", ".join(map(node_name, sorted(dead)))
                    yield f"{names} is dead, and {term.node}, the new controller, {what} the ISR of {where}", joined


def _lasting(stated: list[Stated], end_ms: float) -> Iterator[tuple[Stated, float]]:
    """(a state, the time until which it was in force)."""
    ends = [*(following.at_ms for following in stated[1:]), end_ms]
    yield from zip(stated, ends, strict=True)


def _joined(stated: list[Stated], now: Stated, since_ms: float) -> set[BrokerId]:
    """Members of this ISR by the leader's requests since then, which keep leader and epoch."""
    led = (now.state.leader, now.state.leader_epoch)
    joined: set[BrokerId] = set()
    for before, after in pairwise(stated):
        if since_ms < after.at_ms <= now.at_ms and led == _led(before) == _led(after):
            joined |= set(after.state.isr) - set(before.state.isr)
    return joined & set(now.state.isr)


def _led(stated: Stated) -> tuple[BrokerId, LeaderEpoch]:
    return stated.state.leader, stated.state.leader_epoch


def _quiet_terms(events: list[TimedEvent], end_ms: float) -> Iterator[_Term]:
    """Periods of a living controller without link faults and pauses.

    A dying node may have requested to become controller, and become it.
    """
    registered: set[int] = set()
    dead: set[str] = set()
    once: set[int] = set()
    rules: set[str] = set()
    still: set[str] = set()
    begun: _Term | None = None
    written: set[tuple[int, str]] = set()
    for node, *_, at_ms, event in events:
        match event:
            case ZnodeChanged(path=path, zxid=zxid) if (zxid, path) not in written:
                written.add((zxid, path))
                if path == CONTROLLER:
                    yield from _long(begun, at_ms)
                    begun = None
                    name = node_name(decode_controller(event.data.encode()))
                    if event.change == "created" and not rules and not still and name not in dead:
                        begun = _Term(name, at_ms, at_ms, frozenset(registered), frozenset(once - registered))
                elif path.startswith(f"{BROKER_IDS}/"):
                    broker = int(path.removeprefix(f"{BROKER_IDS}/"))
                    yield from _long(begun, at_ms)
                    gone = event.change == "deleted"
                    (registered.discard if gone else registered.add)(broker)
                    once.add(broker)
                    begun = _without(begun, broker)
            case FaultInForce(rule=rule):
                rules.add(rule)
                yield from _long(begun, at_ms)
                begun = None
            case FaultHealed(rule=rule):
                rules.discard(rule)
            case MachineFault(what="pause", target=target):
                still.add(target)
                yield from _long(begun, at_ms)
                begun = None
            case NodeStopped():
                dead.add(node)
                if begun is not None and node == begun.node:
                    yield from _long(begun, at_ms)
                    begun = None
            case MachineFault(what=what, target=target):
                still.discard(target)
                if what == "start":
                    dead.discard(target)
                elif what in SILENT_ENDS:
                    dead.add(target)
                if target.startswith("session") or (begun is not None and target == begun.node and what != "start"):
                    yield from _long(begun, at_ms)
                    begun = None
            case _:
                pass
    yield from _long(begun, end_ms)


def _long(begun: _Term | None, at_ms: float) -> Iterator[_Term]:
    if begun is not None and at_ms - begun.since_ms > DEAD_MS:
        yield msgspec.structs.replace(begun, until_ms=at_ms)


def _without(begun: _Term | None, broker: int) -> _Term | None:
    """The term without a broker that comes or goes, and so is not present or absent throughout."""
    if begun is None:
        return None
    return msgspec.structs.replace(begun, registered=begun.registered - {broker}, absent=begun.absent - {broker})
