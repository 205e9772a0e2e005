"""Committed offsets of the new consumer: it finds its group's coordinator, and asks it. Semantics 6.

One question at a time, over connections of its own, so that no fetch that is parked holds a commit up. A coordinator
that is lost, or says that it is none, is looked for again; any broker knows one, by its own metadata.

    unknown --FindCoordinator--> known --connection lost or not to be had, 15, 16, 7--> unknown
"""

from collections import deque
from collections.abc import Mapping

import msgspec

from emulator.machines.client.client_settings import ConsumerSettings
from emulator.machines.client.connections import BrokerConnections
from emulator.machines.client.deadlines import PollTimer, is_due
from emulator.machines.client.exchange import Failure
from emulator.machines.client.offset_store import (
    ASKED_MAX,
    TIMED_OUT,
    CommitEnded,
    Committed,
    GroupOperations,
    Looked,
    look_operations,
)
from emulator.machines.client.operations import NO_ANSWER, OperationLog
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, TopicPartition
from protocol.machine import Due, Now, Outbox
from protocol.messages.base import Message
from protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupPartition,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)

_ELSEWHERE = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.REQUEST_TIMED_OUT})
"""After these the coordinator is looked for again."""
_LATER = _ELSEWHERE | {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
"""What may succeed when it is tried again."""


class _Look(msgspec.Struct):
    partitions: list[TopicPartition]
    looked: Looked
    operations: GroupOperations


class _Commit(msgspec.Struct):
    """`deadline_ms` None: it is tried once. `over`: its time was, while it was under way; what is answered is
    nobody's."""

    offsets: Mapping[TopicPartition, Committed]
    ended: CommitEnded
    operations: GroupOperations
    deadline_ms: float | None
    over: bool = False


class CoordinatorOffsets:
    """Of one group. `key` begins the names of its timer; it is this owner's alone on its node."""

    def __init__(
        self,
        key: str,
        brokers: list[str],
        operations: OperationLog,
        settings: ConsumerSettings,
        chance: Chance,
    ) -> None:
        self._key = key
        self._brokers = brokers
        self._operations = operations
        self._settings = settings
        self._connections = BrokerConnections(settings, chance, 1, lambda now, out: None, self._due)
        self._coordinator: tuple[BrokerId, str] | None = None
        self._asked: deque[_Look | _Commit] = deque()
        self._under_way = False
        self._not_before_ms = 0.0
        self._timer = PollTimer(key, self._due)
        self.handled: Due = lambda now, out: None
        self._running = False
        self._closed = False

    def look(self, now: Now, out: Outbox, partitions: list[TopicPartition], looked: Looked) -> None:
        """See OffsetStore."""
        operations = look_operations(self._operations, out, self._settings.group_id, partitions)
        self._ask(now, out, _Look(partitions, looked, operations))

    def commit(
        self,
        now: Now,
        out: Outbox,
        offsets: Mapping[TopicPartition, Committed],
        ended: CommitEnded,
        timeout_ms: float | None,
    ) -> None:
        """See OffsetStore."""
        operations = GroupOperations(self._operations, out, "commit", self._settings.group_id, offsets)
        deadline_ms = None if timeout_ms is None else now.mono_ms + timeout_ms
        self._ask(now, out, _Commit(offsets, ended, operations, deadline_ms))

    def _due(self, now: Now, out: Outbox) -> None:
        self._run(now, out)
        self.handled(now, out)

    def close(self, now: Now, out: Outbox) -> None:
        """See OffsetStore."""
        self._closed = True
        self._connections.close(out)
        self._timer.cancel(out)
        for asked in self._asked:
            if isinstance(asked, _Look) or not asked.over:
                self._give_up(out, asked, "the consumer was closed", "KafkaException")
        self._asked.clear()

    @property
    def closed(self) -> bool:
        """See OffsetStore."""
        return self._closed

    # --- one round ------------------------------------------------------------------------------------------

    def _ask(self, now: Now, out: Outbox, asked: _Look | _Commit) -> None:
        assert len(self._asked) < ASKED_MAX and not self._closed, f"{self._key}: {len(self._asked)} questions wait"
        self._asked.append(asked)
        self._run(now, out)

    def _run(self, now: Now, out: Outbox) -> None:
        if self._running or self._connections.handling or self._closed:
            return
        self._running = True
        self._connections.poll(now, out)
        self._end_expired(now, out)
        while self._asked and not self._under_way and not self._closed:
            if not is_due(now, self._not_before_ms) or not self._send(now, out):
                break
        self._running = False
        if not self._closed:
            self._set_timer(now, out)

    def _end_expired(self, now: Now, out: Outbox) -> None:
        """Commits whose time is over end, whether they wait for an answer, their turn or a coordinator."""
        for asked in list(self._asked):
            if not isinstance(asked, _Commit) or asked.over or self._closed:
                continue
            if asked.deadline_ms is None or not is_due(now, asked.deadline_ms):
                continue
            self._give_up(out, asked, "its time is over", TIMED_OUT)
            if self._under_way and asked is self._asked[0]:
                asked.over = True
            else:
                self._asked.remove(asked)
            asked.ended(now, out, TIMED_OUT)

    def _give_up(self, out: Outbox, asked: _Look | _Commit, why: str, error: str) -> None:
        """End its operations: an attempt that was not answered may have been done."""
        if self._under_way and asked is self._asked[0] and self._coordinator is not None:
            asked.operations.attempt_ended(out, NO_ANSWER, why)
        asked.operations.end(out, error)

    def _send(self, now: Now, out: Outbox) -> bool:
        """The first question, or the one that comes before all: who is the coordinator?"""
        request: Message
        node: str | None
        if self._coordinator is not None and self._connections.is_unavailable(now, self._coordinator[1]):
            # Whoever is asked next may name the same one again: not at once.
            self._coordinator = None
            self._later(now)
            return False
        if self._coordinator is None:
            node = self._connections.least_loaded(now, self._brokers)
            request = FindCoordinatorRequest(self._settings.group_id)
        else:
            node, request = self._coordinator[1], self._request(self._asked[0])
        if node is None or not self._connections.ready(now, out, node):
            return False
        wait_ms = self._settings.request_timeout_ms
        if self._coordinator is not None:
            self._asked[0].operations.sent(out, self._coordinator[0], wait_ms)
        self._under_way = True
        self._connections.send(now, out, node, request, wait_ms=wait_ms, answered=self._answered)
        return True

    def _request(self, asked: _Look | _Commit) -> Message:
        group = self._settings.group_id
        if isinstance(asked, _Look):
            return OffsetFetchRequest(group, [GroupPartition(*topic_partition) for topic_partition in asked.partitions])
        return OffsetCommitRequest(
            group,
            [
                OffsetToCommit(*topic_partition, each.offset, each.leader_epoch)
                for topic_partition, each in asked.offsets.items()
            ],
        )

    def _set_timer(self, now: Now, out: Outbox) -> None:
        deadlines_ms = [self._connections.next_at_ms()]
        if self._asked and not self._under_way:
            deadlines_ms.append(self._not_before_ms)
        for asked in self._asked:
            if isinstance(asked, _Commit) and asked.deadline_ms is not None and not asked.over:
                deadlines_ms.append(asked.deadline_ms)
        self._timer.set(now, out, deadlines_ms)

    # --- answers --------------------------------------------------------------------------------------------

    def _answered(self, now: Now, out: Outbox, answer: Message | Failure) -> None:
        self._under_way = False
        first = self._asked[0]
        if isinstance(first, _Commit) and first.over:
            self._asked.popleft()
            if isinstance(answer, Failure):
                self._coordinator = None
                self._later(now)
            return
        match answer:
            case Failure() if self._coordinator is None:
                self._later(now)
            case Failure(error=name, reason=reason):
                self._coordinator = None
                first.operations.attempt_ended(out, NO_ANSWER, f"{name}: {reason}")
                self._failed(now, out, "DisconnectException", again=True)
            case FindCoordinatorResponse(error=ErrorCode.NONE, broker=broker, node=node):
                self._coordinator = (broker, node)
            case FindCoordinatorResponse(error=error):
                # Nothing was asked yet of whoever it will be: also a commit that is tried once waits for it.
                if error in _LATER:
                    self._later(now)
                else:
                    self._failed(now, out, error, again=False)
            case OffsetFetchResponse(error=ErrorCode.NONE, partitions=partitions):
                assert isinstance(first, _Look), first
                self._asked.popleft()
                first.operations.attempt_ended(out, ErrorCode.NONE)
                found = {(each.topic, each.partition): Committed(each.offset, each.leader_epoch) for each in partitions}
                first.operations.end(out, ErrorCode.NONE, found)
                first.looked(now, out, found, ErrorCode.NONE)
            case OffsetFetchResponse(error=error):
                first.operations.attempt_ended(out, error)
                self._refused(now, out, error)
            case OffsetCommitResponse(partitions=results):
                assert isinstance(first, _Commit), first
                error = next((each.error for each in results if each.error), int(ErrorCode.NONE))
                first.operations.attempt_ended(out, error)
                if error == ErrorCode.NONE:
                    self._commit_ended(now, out, ErrorCode.NONE)
                else:
                    self._refused(now, out, error)
            case _:
                raise AssertionError(answer)

    def _refused(self, now: Now, out: Outbox, error: int) -> None:
        """By a broker that was taken for the coordinator."""
        if error in _ELSEWHERE:
            self._coordinator = None
        self._failed(now, out, error, again=error in _LATER)

    def _failed(self, now: Now, out: Outbox, error: int | str, *, again: bool) -> None:
        first = self._asked[0]
        if again and (isinstance(first, _Look) or first.deadline_ms is not None):
            self._later(now)
        elif isinstance(first, _Look):
            self._asked.popleft()
            first.operations.end(out, error)
            first.looked(now, out, {}, error)
        else:
            self._commit_ended(now, out, error)

    def _later(self, now: Now) -> None:
        self._not_before_ms = now.mono_ms + self._settings.retry_backoff_ms

    def _commit_ended(self, now: Now, out: Outbox, error: int | str) -> None:
        first = self._asked.popleft()
        assert isinstance(first, _Commit), first
        first.operations.end(out, error)
        first.ended(now, out, error)
