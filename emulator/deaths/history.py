"""What the events of a run say of its past: states, roles, who wrote and copied what, what clients were told."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from emulator.deaths.unclean import UncleanSaid
from emulator.topology import broker_name, identifier_named
from protocol.events import (
    AttemptSent,
    BatchAppended,
    BrokerConfigured,
    BrokersSeen,
    ControllerChanged,
    Event,
    FetcherChanged,
    HighWatermarkMoved,
    LeaderAndIsrIgnored,
    LogLoaded,
    LogTruncated,
    NodeStarted,
    OperationEnded,
    RoleChanged,
    SessionChanged,
    StateDecided,
    TopicRemoved,
    ZnodeChanged,
)
from protocol.ids import TopicPartition
from protocol.znodes import Leadership, decode_state, state_partition

Happened = tuple[str, int, int, object, float, Event]
"""(node, incarnation, seq, cause, at_ms, event)"""

HISTORIC: tuple[type[Event], ...] = (
    AttemptSent, BatchAppended, BrokerConfigured, BrokersSeen, ControllerChanged, FetcherChanged, HighWatermarkMoved,
    LogLoaded, LogTruncated, NodeStarted, OperationEnded, RoleChanged, SessionChanged, StateDecided, TopicRemoved,
    ZnodeChanged,
)  # fmt: skip
"""Events that a history is made of."""


UNTOLD = "untold"


class Stated(msgspec.Struct, frozen=True):
    """A state that the session service held from `at_ms` on (when the first of its servers had it)."""

    at_ms: float
    state: Leadership


class Cut(msgspec.Struct, frozen=True):
    """A replica's log was cut to `to`; it had ended at `log_end`. `reason` as in `log_truncated`; UNTOLD: it was
    shorter when its next life found it, of which a death in the midst of cutting leaves no other trace."""

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


class Followed(msgspec.Struct, frozen=True):
    """`broker` follows `leader` in `epoch` from `at_ms` on, until `until_ms`: its next role, or its next life."""

    at_ms: float
    broker: int
    leader: int
    epoch: int
    until_ms: float = float("inf")


class Fetched(msgspec.Struct, frozen=True):
    """`broker` fetches from `source`, as it began to in `epoch`, until `until_ms`: it is stopped, or its life ends."""

    at_ms: float
    broker: int
    source: int
    epoch: int
    until_ms: float = float("inf")


class Written(msgspec.Struct, frozen=True):
    """`broker`, leading or following in `epoch`, appended [first, last]."""

    at_ms: float
    broker: int
    epoch: int
    first: int
    last: int
    digest: int


class High(msgspec.Struct, frozen=True):
    """`broker`, leading in `epoch`, moved its high watermark up to there."""

    at_ms: float
    broker: int
    epoch: int
    high_watermark: int


class Copied(msgspec.Struct, frozen=True):
    """`broker`, following in epoch `followed`, appended at `first` what had been written in the later `epoch`."""

    at_ms: float
    broker: int
    first: int
    followed: int
    epoch: int


class Stopped(msgspec.Struct, frozen=True):
    """A replica's fetcher ended, and has not begun again in this life of its broker. `how`: removed, failed (as in
    `fetcher_changed`, with its `reason`), or half-way: an order that took over a leader ended before its fetcher began,
    for the session was lost. `roles`: (leader, epoch) that it followed then, and has been told since."""

    at_ms: float
    how: str
    reason: str
    roles: tuple[tuple[int, int], ...]


class Office(msgspec.Struct, frozen=True):
    """`node` takes itself for the controller of this epoch."""

    at_ms: float
    node: str
    epoch: int


class History(msgspec.Struct):
    """By partition, in order; brokers by their numbers, nodes by their names. Of a topic that was deleted nothing: what
    is called so now is what came after.

    `written`: by leaders; `copied`: by followers; `ahead`: what these copied of later epochs than they followed in.
    `highs`: of leaders.
    `stopped`: replicas that fetch no more, {(place, broker): how}. `cut_short`: when an order for this replica was
    ended by a lost session before it came to it.

    `acknowledged`: {(place, digest): first success of a produce with acks=all}. `attempts`: of each operation.
    `lives`: when each life of a node began. `away`: when a node lost its connection to the session service, and had it
    again. `named`: when a controller saw a broker come or go, {(controller's node, broker): times}. `created`:
    partitions whose first state a controller knows to have written, with its epoch. `contradictions`: transactions that
    two session servers have committed differently. `unclean`: who said what of unclean election."""

    states: dict[TopicPartition, list[Stated]] = {}
    cuts: dict[TopicPartition, list[Cut]] = {}
    leaders: dict[TopicPartition, list[Led]] = {}
    followers: dict[TopicPartition, list[Followed]] = {}
    fetched: dict[TopicPartition, list[Fetched]] = {}
    written: dict[TopicPartition, list[Written]] = {}
    copied: dict[TopicPartition, list[Written]] = {}
    highs: dict[TopicPartition, list[High]] = {}
    ahead: dict[TopicPartition, list[Copied]] = {}
    stopped: dict[tuple[TopicPartition, int], Stopped] = {}
    cut_short: dict[tuple[TopicPartition, int], list[float]] = {}
    acknowledged: dict[tuple[TopicPartition, int], float] = {}
    attempts: dict[str, int] = {}
    lives: dict[str, list[float]] = {}
    away: dict[str, list[tuple[float, float]]] = {}
    offices: list[Office] = []
    named: dict[tuple[str, int], list[float]] = {}
    created: set[tuple[TopicPartition, int]] = set()
    contradictions: list[str] = []
    unclean: UncleanSaid = msgspec.field(default_factory=UncleanSaid)


def history_of(events: Iterable[Happened]) -> History:
    """`events` in order of time; brokers' nodes are called `broker-N`."""
    writer = _Writer()
    for happened in events:
        writer.add(*happened)
    history = writer.history
    for stated in history.states.values():
        stated.sort(key=lambda one: one.state.zk_version)
    return history


class _Writer:
    def __init__(self) -> None:
        self.history = History()
        self._committed: dict[tuple[int, str, int], str] = {}
        self._roles: dict[tuple[TopicPartition, int], RoleChanged] = {}
        self._ends: dict[tuple[TopicPartition, int], int] = {}
        self._disconnected: dict[str, float] = {}

    def add(self, node: str, incarnation: int, seq: int, cause: object, at_ms: float, event: Event) -> None:
        history = self.history
        history.unclean.add(node, at_ms, event)
        match event:
            case TopicRemoved(topic=topic):
                self._removed(topic)
            case ZnodeChanged():
                self._znode(node, at_ms, event)
            case RoleChanged():
                self._role(node, at_ms, event)
            case LeaderAndIsrIgnored(reason="half-way" | "session expired"):
                self._cut_short(node, at_ms, event)
            case BatchAppended():
                self._appended(node, at_ms, event)
            case HighWatermarkMoved(leading=True, leader_epoch=epoch, high_watermark=high):
                moved = High(at_ms, identifier_named(node), epoch, high)
                history.highs.setdefault((event.topic, event.partition), []).append(moved)
            case LogTruncated(effective=True):
                self._cut(node, at_ms, event, event.to, event.log_end, event.reason)
            case LogLoaded(log_end=found):
                held = self._ends.get(((event.topic, event.partition), identifier_named(node)), found)
                if found < held:
                    self._cut(node, at_ms, event, found, held, UNTOLD)
            case FetcherChanged():
                self._fetcher(node, at_ms, event)
            case NodeStarted():
                history.lives.setdefault(node, []).append(at_ms)
                self._born(node, at_ms)
            case SessionChanged(owner=owner, state=state) if owner == node:
                self._session(node, at_ms, state)
            case BrokersSeen():
                for broker in ",".join((event.added, event.removed, event.bounced)).split(","):
                    if broker:
                        history.named.setdefault((node, int(broker)), []).append(at_ms)
            case ControllerChanged(active=True, controller_epoch=epoch):
                history.offices.append(Office(at_ms, node, epoch))
            case StateDecided(reason="created", controller_epoch=epoch):
                history.created.add(((event.topic, event.partition), epoch))
            case AttemptSent(operation=operation):
                history.attempts[operation] = history.attempts.get(operation, 0) + 1
            case OperationEnded(kind="produce", outcome="ok", acks=-1, digest=digest):
                history.acknowledged.setdefault(((event.topic, event.partition), digest), at_ms)
            case _:
                pass

    def _znode(self, node: str, at_ms: float, event: ZnodeChanged) -> None:
        if event.change == "deleted":
            return
        history, written = self.history, (event.zxid, event.path, event.version)
        if written not in self._committed:
            self._committed[written] = event.data
            place = state_partition(event.path)
            if place is not None:
                state = decode_state(*place, event.data.encode(), event.version)
                history.states.setdefault(place, []).append(Stated(at_ms, state))
        elif self._committed[written] != event.data:
            other = self._committed[written]
            text = f"transaction {event.zxid:#x} wrote {event.data!r} to {event.path} at {node}, {other!r} elsewhere"
            history.contradictions.append(text)

    def _removed(self, topic: str) -> None:
        """What is called so from now on is another topic."""
        history = self.history
        by_place = (
            history.states, history.cuts, history.leaders, history.followers, history.fetched, history.written,
            history.copied, history.highs, history.ahead,
        )  # fmt: skip
        for places in by_place:
            _drop(places, lambda place: place[0] == topic)
        for replicas in (history.stopped, history.cut_short, history.acknowledged, self._roles, self._ends):
            _drop(replicas, lambda replica: replica[0][0] == topic)
        history.created = {made for made in history.created if made[0][0] != topic}

    def _cut_short(self, node: str, at_ms: float, event: LeaderAndIsrIgnored) -> None:
        """A lost session ended an order after it had come to this replica, or before."""
        replica = ((event.topic, event.partition), identifier_named(node))
        if event.reason == "half-way":
            self.history.stopped[replica] = Stopped(at_ms, "half-way", "", ((event.leader, event.leader_epoch),))
        else:
            self.history.cut_short.setdefault(replica, []).append(at_ms)

    def _role(self, node: str, at_ms: float, event: RoleChanged) -> None:
        history, place, broker = self.history, (event.topic, event.partition), identifier_named(node)
        _end(history.followers.get(place, []), broker, at_ms)
        self._roles[place, broker] = event
        stopped = history.stopped.get((place, broker))
        if event.role == "leader":
            history.stopped.pop((place, broker), None)
            history.leaders.setdefault(place, []).append(Led(at_ms, broker, event.leader_epoch, event.log_end))
        elif event.role == "follower":
            role = (event.leader, event.leader_epoch)
            history.followers.setdefault(place, []).append(Followed(at_ms, broker, *role))
            if stopped is not None:
                roles = (*stopped.roles, role)
                history.stopped[place, broker] = msgspec.structs.replace(stopped, roles=roles)

    def _born(self, node: str, at_ms: float) -> None:
        """Nothing of a life reaches the next, but what is on disk."""
        self._disconnected.pop(node, None)
        mine = [replica for replica in self._roles if broker_name(replica[1]) == node]
        for replica in mine:
            del self._roles[replica]
            place, broker = replica
            _end(self.history.followers.get(place, []), broker, at_ms)
            _end(self.history.fetched.get(place, []), broker, at_ms)
            self.history.stopped.pop(replica, None)

    def _fetcher(self, node: str, at_ms: float, event: FetcherChanged) -> None:
        place, broker = (event.topic, event.partition), identifier_named(node)
        role = self._roles.get((place, broker))
        if event.change == "added":
            self.history.stopped.pop((place, broker), None)
            fetched = Fetched(at_ms, broker, event.source, event.leader_epoch)
            self.history.fetched.setdefault(place, []).append(fetched)
        elif event.change in ("removed", "failed"):
            _end(self.history.fetched.get(place, []), broker, at_ms)
            roles = () if role is None else ((role.leader, role.leader_epoch),)
            self.history.stopped[place, broker] = Stopped(at_ms, event.change, event.reason, roles)

    def _cut(
        self, node: str, at_ms: float, event: LogTruncated | LogLoaded, to: int, log_end: int, reason: str
    ) -> None:
        place, broker = (event.topic, event.partition), identifier_named(node)
        self.history.cuts.setdefault(place, []).append(Cut(at_ms, broker, to, log_end, reason))
        self._ends[place, broker] = to

    def _appended(self, node: str, at_ms: float, event: BatchAppended) -> None:
        history, place, broker = self.history, (event.topic, event.partition), identifier_named(node)
        self._ends[place, broker] = event.last_offset + 1
        role = self._roles.get((place, broker))
        if role is None:
            return
        written = history.written.setdefault(place, [])
        batch = Written(at_ms, broker, role.leader_epoch, event.base_offset, event.last_offset, event.digest)
        if event.as_leader:
            written.append(batch)
            return
        history.copied.setdefault(place, []).append(batch)
        epoch = event.leader_epoch
        if epoch < 0:  # batches have none before 0.11
            same = (one for one in reversed(written) if (one.first, one.digest) == (event.base_offset, event.digest))
            epoch = next((one.epoch for one in same), -1)
        if epoch > role.leader_epoch:
            copied = Copied(at_ms, broker, event.base_offset, role.leader_epoch, epoch)
            history.ahead.setdefault(place, []).append(copied)

    def _session(self, node: str, at_ms: float, state: str) -> None:
        if state == "disconnected":
            self._disconnected[node] = at_ms
        elif state == "connected" and node in self._disconnected:
            self.history.away.setdefault(node, []).append((self._disconnected.pop(node), at_ms))


Lasting = TypeVar("Lasting", Followed, Fetched)


def _end(lasting: list[Lasting], broker: int, at_ms: float) -> None:
    """What this broker did last is over, if it was not already."""
    for index in range(len(lasting) - 1, -1, -1):
        if lasting[index].broker == broker:
            if lasting[index].until_ms > at_ms:
                lasting[index] = msgspec.structs.replace(lasting[index], until_ms=at_ms)
            return


def _drop(by_key: dict[Any, Any], matches: Callable[[Any], bool]) -> None:
    for key in [key for key in by_key if matches(key)]:
        del by_key[key]
