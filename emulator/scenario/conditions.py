"""Conditions of waits, evaluated on data of the session service.

A condition is data; `holds` says whether it is true in a `View`. Some are relative ("a new leader"): they
look at `View.before`, the state when the last fault began. Others need a broker's own view, or log ends;
`needs` lists these, so that nothing is requested without need. `partition` "" is the scenario's first.
"""

from collections.abc import Iterable
from typing import assert_never

import msgspec

from protocol.ids import NO_LEADER

EVERY_ISR_FULL = "every isr full"
"""Words of the condition, in any case, maybe behind a topic or a partition."""


class PartitionView(msgspec.Struct, frozen=True):
    """One partition's state.

    `leader` -1: none. `assignment`: its replicas, the preferred leader first.
    """

    leader: int
    isr: tuple[int, ...]
    leader_epoch: int = 0
    assignment: tuple[int, ...] = ()


class Before(msgspec.Struct, frozen=True):
    """Data of the session service when the last fault began; empty before any fault."""

    leaders: dict[str, int] = {}
    controller: int | None = None
    controller_epoch: int = 0


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Data at one moment.

    partitions: {"t-0": state} in the session service. topics: those that it knows, led or not. live: registered
    brokers. unchanged_s: time since the last change of these. broker_views: {broker: {"t-0": leader}} by each broker's
    own metadata; a broker that did not answer is not in it. log_ends: {"t-0": {broker: log end}} of the running
    brokers."""

    first: str = ""
    partitions: dict[str, PartitionView] = {}
    answering: bool = False
    """Some server of the session service has a quorum behind it: a client's read succeeds."""
    topics: frozenset[str] = frozenset()
    controller: int | None = None
    controller_epoch: int = 0
    live: frozenset[int] = frozenset()
    before: Before = Before()
    unchanged_s: float = 0.0
    broker_views: dict[int, dict[str, int]] = {}
    live_views: dict[int, frozenset[int]] = {}
    """{broker: the live brokers by its own metadata}"""
    log_ends: dict[str, dict[int, int]] = {}
    stable_offsets: dict[str, int] = {}
    """{"t-0": the leader's last stable offset}"""

    def partition(self, name: str) -> PartitionView | None:
        return self.partitions.get(name or self.first)

    def as_before(self) -> Before:
        """To be kept as `before` of later views when a fault begins now."""
        leaders = {name: state.leader for name, state in self.partitions.items()}
        return Before(leaders, self.controller, self.controller_epoch)


class Leader(msgspec.Struct, frozen=True):
    """`broker` leads; -1: no leader."""

    broker: int
    partition: str = ""


class HasLeader(msgspec.Struct, frozen=True):
    """Some broker leads."""

    partition: str = ""


class NewLeader(msgspec.Struct, frozen=True):
    """A partition has a leader, and another one than when the last fault began."""

    partition: str = ""


class PreferredLeader(msgspec.Struct, frozen=True):
    """The first replica of the assignment leads."""

    partition: str = ""


class Isr(msgspec.Struct, frozen=True):
    """Exactly `members` are in sync, in whatever order."""

    members: frozenset[int]
    partition: str = ""


class Replicas(msgspec.Struct, frozen=True):
    """The partition is assigned to exactly `members`, in this order: nothing is being moved."""

    members: tuple[int, ...]
    partition: str = ""


class InIsr(msgspec.Struct, frozen=True):
    """`broker` is in sync."""

    broker: int
    partition: str = ""


class IsrShrunk(msgspec.Struct, frozen=True):
    """Some replica of the assignment is not in sync."""

    partition: str = ""


class IsrRestored(msgspec.Struct, frozen=True):
    """Every replica of the assignment is in sync."""

    partition: str = ""


class NewController(msgspec.Struct, frozen=True):
    """There is a controller, of a later controller epoch than when the last fault began."""


class HasController(msgspec.Struct, frozen=True):
    """Some node is the controller, in KRaft the active one."""


class Controller(msgspec.Struct, frozen=True):
    """`broker` is the controller."""

    broker: int


class Registered(msgspec.Struct, frozen=True):
    """Each of `brokers` has a session and is registered; in KRaft: is registered and unfenced."""

    brokers: frozenset[int]


class Unfenced(msgspec.Struct, frozen=True):
    """`broker` answers, and is among the live brokers of its own metadata (KRaft)."""

    broker: int


class SessionsExpired(msgspec.Struct, frozen=True):
    """None of `brokers` is registered any more; in KRaft: is unfenced."""

    brokers: frozenset[int]


class LeadsInView(msgspec.Struct, frozen=True):
    """By the own metadata of broker `of`, `broker` leads."""

    broker: int
    of: int
    partition: str = ""


class KnowsLeader(msgspec.Struct, frozen=True):
    """The own metadata of broker `of` names the leader that the session service has."""

    of: int
    partition: str = ""


class SessionServiceAnswers(msgspec.Struct, frozen=True):
    """A client of the session service can read a partition's state."""


class Deleted(msgspec.Struct, frozen=True):
    """The session service knows no such topic (any more)."""

    topic: str


class CaughtUp(msgspec.Struct, frozen=True):
    """The logs of all running replicas end at the same offset."""

    partition: str = ""


class LastStableOffset(msgspec.Struct, frozen=True):
    """The leader's last stable offset is `at_least` this one.

    It stands alone: no other condition contains it.
    """

    at_least: int
    partition: str = ""


class Every(msgspec.Struct, frozen=True):
    """The condition holds of every partition, or of all of `topic`.

    The condition names no partition itself."""

    condition: "Condition"
    topic: str = ""


class Quiet(msgspec.Struct, frozen=True):
    """Nothing has changed for `quiet_s`."""

    quiet_s: float


class Not(msgspec.Struct, frozen=True):
    """The opposite."""

    condition: "Condition"


class AllOf(msgspec.Struct, frozen=True):
    """Every one of them."""

    conditions: tuple["Condition", ...]


Condition = (
    Leader
    | HasLeader
    | NewLeader
    | PreferredLeader
    | Isr
    | Replicas
    | InIsr
    | IsrShrunk
    | IsrRestored
    | NewController
    | HasController
    | Controller
    | Registered
    | Unfenced
    | SessionsExpired
    | LeadsInView
    | KnowsLeader
    | SessionServiceAnswers
    | Deleted
    | CaughtUp
    | LastStableOffset
    | Every
    | Quiet
    | Not
    | AllOf
)


class Needs(msgspec.Struct, frozen=True):
    """Data that a condition needs beyond the session service: brokers' metadata, log ends."""

    brokers: frozenset[int] = frozenset()
    log_ends: bool = False


def needs(condition: Condition) -> Needs:
    match condition:
        case LeadsInView(of=of) | KnowsLeader(of=of) | Unfenced(broker=of):
            return Needs(frozenset({of}))
        case CaughtUp():
            return Needs(log_ends=True)
        case Not(condition=inner) | Every(condition=inner):
            return needs(inner)
        case AllOf(conditions=inner):
            inner_needs = [needs(c) for c in inner]
            brokers: Iterable[int] = (b for one in inner_needs for b in one.brokers)
            return Needs(frozenset(brokers), any(one.log_ends for one in inner_needs))
        case _:
            return Needs()


def holds(condition: Condition, view: View) -> bool:
    """Whether the condition is true.

    Unknown data (no such partition yet, no response) count as false.
    """
    match condition:
        case Quiet(quiet_s=quiet_s):
            return view.unchanged_s >= quiet_s
        case NewController():
            return view.controller is not None and view.controller_epoch > view.before.controller_epoch
        case HasController():
            return view.controller is not None
        case Controller(broker=broker):
            return view.controller == broker
        case Registered(brokers=brokers):
            return brokers <= view.live
        case Unfenced(broker=broker):
            return broker in view.live_views.get(broker, ())
        case SessionsExpired(brokers=brokers):
            return not brokers & view.live
        case SessionServiceAnswers():
            return view.answering
        case Deleted(topic=topic):
            return topic not in view.topics
        case Not(condition=inner):
            return not holds(inner, view)
        case AllOf(conditions=inner_all):
            return all(holds(inner, view) for inner in inner_all)
        case Every(condition=inner, topic=topic):
            names = [name for name in view.partitions if topic in ("", name.rpartition("-")[0])]
            return bool(names) and all(holds(inner, msgspec.structs.replace(view, first=name)) for name in names)
        case _:
            state = view.partition(condition.partition)
            return state is not None and _holds_in(condition, state, view)


_OfPartition = (
    Leader | HasLeader | NewLeader | PreferredLeader | Isr | Replicas | InIsr | IsrShrunk | IsrRestored | LeadsInView
    | KnowsLeader | CaughtUp | LastStableOffset
)  # fmt: skip


def _holds_in(condition: _OfPartition, state: PartitionView, view: View) -> bool:
    name = condition.partition or view.first
    match condition:
        case Leader(broker=broker):
            return state.leader == broker
        case HasLeader():
            return state.leader != NO_LEADER
        case NewLeader():
            return state.leader not in (NO_LEADER, view.before.leaders.get(name))
        case PreferredLeader():
            return bool(state.assignment) and state.leader == state.assignment[0]
        case Isr(members=members):
            return set(state.isr) == members
        case Replicas(members=members):
            return state.assignment == members
        case InIsr(broker=broker):
            return broker in state.isr
        case IsrShrunk():
            return not set(state.assignment) <= set(state.isr)
        case IsrRestored():
            return set(state.assignment) <= set(state.isr)
        case LeadsInView(broker=broker, of=of):
            return view.broker_views.get(of, {}).get(name) == broker
        case KnowsLeader(of=of):
            return state.leader != NO_LEADER and view.broker_views.get(of, {}).get(name) == state.leader
        case CaughtUp():
            ends = view.log_ends.get(name, {})
            return bool(ends) and len(set(ends.values())) == 1
        case LastStableOffset(at_least=at_least):
            return view.stable_offsets.get(name, -1) >= at_least
        case _:
            assert_never(condition)


def described(condition: Condition) -> str:
    """In words: the name of a wait in the timeline unless the scenario calls it something else."""
    match condition:
        case Leader(broker=-1):
            return "no leader"
        case Leader(broker=broker):
            return f"broker-{broker} leads"
        case HasLeader():
            return "a leader"
        case NewLeader():
            return "new leader"
        case PreferredLeader():
            return "preferred leader"
        case Isr(members=members):
            return f"isr={sorted(members)}"
        case Replicas(members=members):
            return f"replicas={list(members)}"
        case InIsr(broker=broker):
            return f"broker-{broker} in isr"
        case IsrShrunk():
            return "isr shrunk"
        case IsrRestored():
            return "isr restored"
        case NewController():
            return "new controller"
        case HasController():
            return "active controller"
        case Unfenced(broker=broker):
            return f"broker-{broker} unfenced"
        case Controller(broker=broker):
            return f"broker-{broker} is controller"
        case Registered(brokers=brokers):
            return f"{_named(brokers)} registered"
        case SessionsExpired(brokers=brokers):
            return f"session of {_named(brokers)} expired"
        case LeadsInView(broker=broker, of=of):
            return f"broker-{broker} leads, as broker-{of} sees it"
        case KnowsLeader(of=of):
            return f"broker-{of} knows the leader"
        case SessionServiceAnswers():
            return "session service answers"
        case Deleted(topic=topic):
            return f"{topic} deleted"
        case CaughtUp():
            return "caught up"
        case LastStableOffset(at_least=at_least):
            return f"last stable offset >= {at_least}"
        case Every(condition=IsrRestored(), topic=topic) if topic:
            return f"{topic} {EVERY_ISR_FULL}"
        case Every(condition=inner, topic=topic):
            return f"every partition{f' of {topic}' if topic else ''}: {described(inner)}"
        case Quiet(quiet_s=quiet_s):
            return f"nothing changed for {quiet_s:g} s"
        case Not(condition=inner):
            return f"not {described(inner)}"
        case AllOf(conditions=inner_all):
            return " and ".join(described(inner) for inner in inner_all)
        case _:
            assert_never(condition)


def _named(brokers: frozenset[int]) -> str:
    return ", ".join(f"broker-{broker}" for broker in sorted(brokers))
