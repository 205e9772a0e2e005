"""Builds a run's history (`history`) from its events in order of time."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from emulator.judging.explain.run_history import (
    UNSEEN,
    UNTOLD,
    Assigned,
    Copied,
    Cut,
    Fetched,
    Followed,
    High,
    History,
    Led,
    Settled,
    Stated,
    Stopped,
    Term,
    Unseen,
    Written,
)
from emulator.topology import broker_name, identifier_named
from protocol.events import (
    AttemptSent,
    BatchAppended,
    BrokerConfigured,
    BrokersSeen,
    ControllerChanged,
    EpochAnswered,
    Event,
    FetcherChanged,
    HighWatermarkMoved,
    LeaderAndIsrIgnored,
    LogLoaded,
    LogTruncated,
    NodeStarted,
    OperationEnded,
    PartitionStateCommitted,
    RoleChanged,
    SessionChanged,
    StateDecided,
    TopicRemoved,
    ZnodeChanged,
)
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch, TopicPartition
from protocol.kinds import CutReason, IgnoredReason
from protocol.znodes import CONTROLLER, TOPICS, Leadership, decode_state, decode_topic, state_partition

TimedEvent = tuple[str, int, int, object, float, Event]
"""(node, incarnation, seq, cause, at_ms, event)"""

HISTORIC: tuple[type[Event], ...] = (
    AttemptSent, BatchAppended, BrokerConfigured, BrokersSeen, ControllerChanged, EpochAnswered, FetcherChanged,
    HighWatermarkMoved, LeaderAndIsrIgnored, LogLoaded, LogTruncated, NodeStarted, OperationEnded,
    PartitionStateCommitted, RoleChanged, SessionChanged, StateDecided, TopicRemoved, ZnodeChanged,
)  # fmt: skip
"""Event types that a history is made of."""


TOPIC_DEPTH = 3
"""Count of slashes in a topic's path."""


def history_of(events: Iterable[TimedEvent]) -> History:
    """The history of `events` in order of time; brokers' nodes are called `broker-N`."""
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
        self._former: dict[tuple[TopicPartition, int], RoleChanged] = {}
        self._ends: dict[tuple[TopicPartition, int], int] = {}
        self._disconnected: dict[str, float] = {}
        self._controller_zxid = 0
        self._offset = -1
        self._removed_ids: set[str] = set()

    def add(self, node: str, incarnation: int, seq: int, cause: object, at_ms: float, event: Event) -> None:
        history = self.history
        history.unclean.add(node, at_ms, event)
        match event:
            case TopicRemoved(topic=topic, topic_id=topic_id):
                if not topic_id or topic_id not in self._removed_ids:  # each controller of KRaft reports it
                    self._removed_ids.add(topic_id)
                    self._removed(topic)
            case PartitionStateCommitted():
                self._state_committed(at_ms, event)
            case ZnodeChanged():
                self._znode(node, at_ms, event)
            case RoleChanged():
                self._role(node, at_ms, event)
            case LeaderAndIsrIgnored(
                reason=IgnoredReason.HALF_WAY | IgnoredReason.SESSION_EXPIRED | IgnoredReason.NEWER_REGISTRATION
            ):
                self._cut_short(node, at_ms, event)
            case BatchAppended():
                self._appended(node, at_ms, event)
            case HighWatermarkMoved(leading=True, leader_epoch=epoch, high_watermark=high):
                moved = High(at_ms, identifier_named(node), epoch=epoch, high_watermark=high)
                history.highs.setdefault((event.topic, event.partition), []).append(moved)
            case LogTruncated():
                self._truncated(node, at_ms, event)
            case EpochAnswered(source=leader, leader_epoch=epoch, offset=answer):
                self._settled(node, at_ms, event, leader, epoch, answered=answer >= 0)
            case LogLoaded(log_end=found):
                held = self._ends.get(((event.topic, event.partition), identifier_named(node)), found)
                if found < held:
                    self._cut(node, at_ms, event, found, held, UNTOLD)
                else:
                    self._found(node, at_ms, event)
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
                history.terms.append(Term(at_ms, node, epoch))
            case StateDecided(reason="created", controller_epoch=epoch):
                history.created.add(((event.topic, event.partition), epoch))
            case AttemptSent(operation=operation):
                history.attempts[operation] = history.attempts.get(operation, 0) + 1
            case OperationEnded(kind="produce", outcome="ok", acks=-1, digest=digest):
                history.acknowledged.setdefault(((event.topic, event.partition), digest), at_ms)
            case _:
                pass

    def _znode(self, node: str, at_ms: float, event: ZnodeChanged) -> None:
        if event.path == CONTROLLER:
            self._controller_znode(at_ms, event)
        if event.change == "deleted":
            return
        history, written = self.history, (event.zxid, event.path, event.version)
        if written not in self._committed:
            self._committed[written] = event.data
            topic_partition = state_partition(event.path)
            if topic_partition is not None:
                state = decode_state(*topic_partition, event.data.encode(), event.version)
                history.states.setdefault(topic_partition, []).append(Stated(at_ms, state))
            elif event.path.startswith(f"{TOPICS}/") and event.path.count("/") == TOPIC_DEPTH:
                topic = event.path.removeprefix(f"{TOPICS}/")
                for partition, assigned in decode_topic(topic, event.data.encode()).items():
                    known = history.assignments.setdefault((topic, partition), [])
                    known.append(Assigned(at_ms, assigned.replicas))
        elif self._committed[written] != event.data:
            other = self._committed[written]
            text = f"transaction {event.zxid:#x} wrote {event.data!r} to {event.path} at {node}, {other!r} elsewhere"
            history.contradictions.append(text)

    def _state_committed(self, at_ms: float, event: PartitionStateCommitted) -> None:
        """Record a state of the metadata log; the first controller that reports it counts."""
        topic_partition = (event.topic, event.partition)
        if event.offset <= self._offset:
            return
        self._offset = event.offset
        state = Leadership(
            BrokerId(event.leader), LeaderEpoch(event.leader_epoch), _brokers(event.isr), ControllerEpoch(event.epoch),
            event.partition_epoch, event.recovering,
        )  # fmt: skip
        self.history.states.setdefault(topic_partition, []).append(Stated(at_ms, state))
        self.history.in_metadata_log.add(topic_partition)
        assigned = self.history.assignments.setdefault(topic_partition, [])
        if not assigned or assigned[-1].replicas != _brokers(event.replicas):
            assigned.append(Assigned(at_ms, _brokers(event.replicas)))

    def _controller_znode(self, at_ms: float, event: ZnodeChanged) -> None:
        """Record a change of `/controller`; the first server that reports it counts."""
        if event.zxid > self._controller_zxid:
            self._controller_zxid = event.zxid
            self.history.controller_znode.append((at_ms, event.change))

    def _removed(self, topic: str) -> None:
        """Forget a deleted topic: its name means another topic from now on."""
        history = self.history
        for topic_partition, written in history.written.items():
            if topic_partition[0] == topic:
                history.gone.setdefault(topic_partition, set()).update(one.digest for one in written)
        by_topic_partition = (
            history.states, history.assignments, history.cuts, history.leaders, history.followers, history.fetched,
            history.written, history.copied, history.highs, history.ahead, history.settled, history.unseen,
        )  # fmt: skip
        for known in by_topic_partition:
            _drop(known, lambda topic_partition: topic_partition[0] == topic)
        by_replica = (history.stopped, history.cut_short, history.acknowledged, self._roles, self._former, self._ends)
        for replicas in by_replica:
            _drop(replicas, lambda replica: replica[0][0] == topic)
        history.created = {made for made in history.created if made[0][0] != topic}

    def _cut_short(self, node: str, at_ms: float, event: LeaderAndIsrIgnored) -> None:
        """Record an order that a lost session ended at this replica or before, or that was refused."""
        replica = ((event.topic, event.partition), identifier_named(node))
        if event.reason in (IgnoredReason.HALF_WAY, IgnoredReason.NEWER_REGISTRATION):
            roles = ((event.leader, event.leader_epoch),)
            self.history.stopped[replica] = Stopped(at_ms, event.reason, "", roles)
        else:
            self.history.cut_short.setdefault(replica, []).append(at_ms)

    def _role(self, node: str, at_ms: float, event: RoleChanged) -> None:
        history, topic_partition, broker = self.history, (event.topic, event.partition), identifier_named(node)
        _end(history.followers.get(topic_partition, []), broker, at_ms)
        before = self._roles.get((topic_partition, broker))
        self._roles[topic_partition, broker] = event
        stopped = history.stopped.get((topic_partition, broker))
        if event.role == "leader":
            history.stopped.pop((topic_partition, broker), None)
            history.leaders.setdefault(topic_partition, []).append(
                Led(at_ms, broker, epoch=event.leader_epoch, log_end=event.log_end)
            )
        elif event.role == "follower":
            role = (event.leader, event.leader_epoch)
            known = None if before is None else (before.leader, before.leader_epoch)
            followed = Followed(
                at_ms, broker, leader=event.leader, epoch=event.leader_epoch, high_watermark=event.high_watermark,
                before=known,
            )  # fmt: skip
            history.followers.setdefault(topic_partition, []).append(followed)
            if stopped is not None:
                roles = (*stopped.roles, role)
                history.stopped[topic_partition, broker] = msgspec.structs.replace(stopped, roles=roles)

    def _born(self, node: str, at_ms: float) -> None:
        """End the former incarnation's roles and fetchers; only its disk survives."""
        self._disconnected.pop(node, None)
        mine = [replica for replica in self._roles if broker_name(replica[1]) == node]
        for replica in mine:
            self._former[replica] = self._roles.pop(replica)
            topic_partition, broker = replica
            _end(self.history.followers.get(topic_partition, []), broker, at_ms)
            _end(self.history.fetched.get(topic_partition, []), broker, at_ms)
            self.history.stopped.pop(replica, None)

    def _fetcher(self, node: str, at_ms: float, event: FetcherChanged) -> None:
        topic_partition, broker = (event.topic, event.partition), identifier_named(node)
        role = self._roles.get((topic_partition, broker))
        if event.change == "added":
            self.history.stopped.pop((topic_partition, broker), None)
            fetched = Fetched(at_ms, broker, source=event.source, epoch=event.leader_epoch)
            self.history.fetched.setdefault(topic_partition, []).append(fetched)
        elif event.change in ("removed", "failed"):
            _end(self.history.fetched.get(topic_partition, []), broker, at_ms)
            roles = () if role is None else ((role.leader, role.leader_epoch),)
            self.history.stopped[topic_partition, broker] = Stopped(at_ms, event.change, event.reason, roles)

    def _truncated(self, node: str, at_ms: float, event: LogTruncated) -> None:
        if event.effective:
            self._cut(node, at_ms, event, event.to, event.log_end, event.reason)
        role = self._roles.get(((event.topic, event.partition), identifier_named(node)))
        if event.reason == CutReason.HIGH_WATERMARK and role is not None:
            self._settled(node, at_ms, event, role.leader, -1, answered=False)

    def _settled(
        self, node: str, at_ms: float, event: LogTruncated | EpochAnswered, leader: int, epoch: int, *, answered: bool
    ) -> None:
        settled = Settled(at_ms, identifier_named(node), leader=leader, to=event.to, epoch=epoch, answered=answered)
        self.history.settled.setdefault((event.topic, event.partition), []).append(settled)

    def _cut(
        self, node: str, at_ms: float, event: LogTruncated | LogLoaded, to: int, log_end: int, reason: str
    ) -> None:
        topic_partition, broker = (event.topic, event.partition), identifier_named(node)
        self.history.cuts.setdefault(topic_partition, []).append(
            Cut(at_ms, broker, to=to, log_end=log_end, reason=reason)
        )
        self._ends[topic_partition, broker] = to

    def _appended(self, node: str, at_ms: float, event: BatchAppended) -> None:
        history, topic_partition, broker = self.history, (event.topic, event.partition), identifier_named(node)
        self._ends[topic_partition, broker] = event.last_offset + 1
        role = self._roles.get((topic_partition, broker))
        if role is None:
            return
        written = history.written.setdefault(topic_partition, [])
        batch = Written(
            at_ms, broker, epoch=role.leader_epoch, first=event.base_offset, last=event.last_offset,
            digest=event.digest, of=event.leader_epoch,
        )  # fmt: skip
        if event.as_leader:
            written.append(batch)
            return
        history.copied.setdefault(topic_partition, []).append(batch)
        epoch = event.leader_epoch
        if epoch < 0:  # batches have none before 0.11
            same = (one for one in reversed(written) if (one.first, one.digest) == (event.base_offset, event.digest))
            epoch = next((one.epoch for one in same), -1)
        if epoch > role.leader_epoch:
            copied = Copied(at_ms, broker, first=event.base_offset, followed=role.leader_epoch, epoch=epoch)
            history.ahead.setdefault(topic_partition, []).append(copied)

    def _found(self, node: str, at_ms: float, event: LogLoaded) -> None:
        """Record a log that is longer than the former incarnation reported."""
        topic_partition, broker = (event.topic, event.partition), identifier_named(node)
        role = self._former.get((topic_partition, broker))
        held = self._ends.get((topic_partition, broker), event.log_end if role is None else role.log_end)
        if role is not None and event.log_end > held:
            self._ends[topic_partition, broker] = event.log_end
            written = Written(at_ms, broker, epoch=role.leader_epoch, first=held, last=event.log_end - 1, digest=UNSEEN)
            self.history.unseen.setdefault(topic_partition, []).append(Unseen(written, role.leader))

    def _session(self, node: str, at_ms: float, state: str) -> None:
        if state == "disconnected":
            self._disconnected[node] = at_ms
        elif state == "connected" and node in self._disconnected:
            self.history.away.setdefault(node, []).append((self._disconnected.pop(node), at_ms))


def _brokers(text: str) -> tuple[BrokerId, ...]:
    return tuple(BrokerId(int(one)) for one in text.split(",") if one)


Lasting = TypeVar("Lasting", Followed, Fetched)


def _end(lasting: list[Lasting], broker: int, at_ms: float) -> None:
    """End the broker's latest entry, unless it has ended already."""
    for index in range(len(lasting) - 1, -1, -1):
        if lasting[index].broker == broker:
            if lasting[index].until_ms > at_ms:
                lasting[index] = msgspec.structs.replace(lasting[index], until_ms=at_ms)
            return


def _drop(by_key: dict[Any, Any], matches: Callable[[Any], bool]) -> None:
    for key in [key for key in by_key if matches(key)]:
        del by_key[key]
