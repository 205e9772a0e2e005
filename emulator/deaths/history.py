"""What the events of a run say of its past: every state of every partition, and every cut of a log."""

from collections.abc import Iterable

import msgspec

from protocol.events import BatchAppended, Event, LogTruncated, RoleChanged, ZnodeChanged
from protocol.ids import TopicPartition
from protocol.znodes import Leadership, decode_state, state_partition

Happened = tuple[str, int, int, object, float, Event]
"""(node, incarnation, seq, cause, at_ms, event)"""


class Stated(msgspec.Struct, frozen=True):
    """A state that the session service held from `at_ms` on (when the first of its servers had it)."""

    at_ms: float
    state: Leadership


class Cut(msgspec.Struct, frozen=True):
    """A replica's log was cut to `to`; it had ended at `log_end`. `reason` as in `log_truncated`."""

    at_ms: float
    broker: int
    to: int
    log_end: int
    reason: str


class Led(msgspec.Struct, frozen=True):
    """`broker` became leader in `epoch`, with a log that ended at `log_end`."""

    at_ms: float
    broker: int
    epoch: int
    log_end: int


class History(msgspec.Struct):
    """By partition, in order. `ahead`: followers that copied a batch of a later epoch than the one they followed in,
    and when. `contradictions`: transactions that two session servers have committed differently."""

    states: dict[TopicPartition, list[Stated]] = {}
    cuts: dict[TopicPartition, list[Cut]] = {}
    leaders: dict[TopicPartition, list[Led]] = {}
    ahead: dict[TopicPartition, list[tuple[float, int]]] = {}
    contradictions: list[str] = []


def history_of(events: Iterable[Happened]) -> History:
    """`events` in order of time; brokers' nodes are called `broker-N`."""
    history = History()
    committed: dict[tuple[int, str, int], str] = {}
    followed: dict[tuple[str, int, TopicPartition], int] = {}
    for node, incarnation, _, _, at_ms, event in events:
        if isinstance(event, RoleChanged):
            followed[node, incarnation, (event.topic, event.partition)] = event.leader_epoch
        match event:
            case ZnodeChanged(path=path, change=change, version=version, zxid=zxid, data=data) if change != "deleted":
                written = (zxid, path, version)
                place = state_partition(path)
                if written not in committed:
                    committed[written] = data
                    if place is not None:
                        state = decode_state(*place, data.encode(), version)
                        history.states.setdefault(place, []).append(Stated(at_ms, state))
                elif committed[written] != data:
                    text = f"transaction {zxid:#x} wrote {data!r} to {path} at {node}, {committed[written]!r} elsewhere"
                    history.contradictions.append(text)
            case LogTruncated(effective=True):
                cut = Cut(at_ms, broker_number(node), event.to, event.log_end, event.reason)
                history.cuts.setdefault((event.topic, event.partition), []).append(cut)
            case BatchAppended(as_leader=False, leader_epoch=epoch):
                place = (event.topic, event.partition)
                if epoch > followed.get((node, incarnation, place), epoch):
                    history.ahead.setdefault(place, []).append((at_ms, broker_number(node)))
            case RoleChanged(role="leader"):
                led = Led(at_ms, broker_number(node), event.leader_epoch, event.log_end)
                history.leaders.setdefault((event.topic, event.partition), []).append(led)
            case _:
                pass
    for stated in history.states.values():
        stated.sort(key=lambda one: one.state.zk_version)
    return history


def broker_number(node: str) -> int:
    """`broker-2`: 2."""
    return int(node.rpartition("-")[2])
