"""Committed offsets of the new consumer: it asks its group's coordinator. Semantics 6.

One question at a time, over a connection of its own, so that no fetch that is parked holds a commit up. A coordinator
that is lost, or answers 15, 16 or 7, is looked for again. A member of the group commits with its generation, and with
none it does not commit at all: what it had is another's by now.
"""

from collections import deque
from collections.abc import Mapping
from typing import Protocol

from emulator.machines.client.client_settings import ConsumerSettings
from emulator.machines.client.coordinator import ELSEWHERE, Coordinator
from emulator.machines.client.deadlines import PollTimer, is_due
from emulator.machines.client.failure import Failure
from emulator.machines.client.member_identity import NOBODY, Identity
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
from protocol.ids import NO_BROKER, TopicPartition
from protocol.machine import Now
from protocol.messages.base import Message
from protocol.messages.groups import (
    GroupPartition,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from protocol.outbox import Due, Outbox

_ELSEWHERE = ELSEWHERE | {ErrorCode.REQUEST_TIMED_OUT}
"""After these the coordinator is looked for again."""
_LATER = _ELSEWHERE | {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
"""What may succeed when it is tried again."""

DISCONNECTED = "DisconnectException"
"""The error of a commit that was not answered, as Java's exception."""


class Membership(Protocol):
    """What a commit has to do with being a member."""

    def identity(self) -> Identity | str:
        """Or why it must not commit now, as Java's exception."""
        ...

    def commit_refused(self, now: Now, out: Outbox, error: int, said: Identity) -> None:
        """The coordinator does not take it as said."""
        ...


class _Look:
    __slots__ = ("looked", "operations", "partitions")

    def __init__(self, partitions: list[TopicPartition], looked: Looked, operations: GroupOperations) -> None:
        self.partitions = partitions
        self.looked = looked
        self.operations = operations


class _Commit:
    """`deadline_ms` None: it is tried once. `over`: its time was, while it was under way; what is answered is
    nobody's."""

    __slots__ = ("deadline_ms", "ended", "offsets", "operations", "over", "said")

    def __init__(
        self,
        offsets: Mapping[TopicPartition, Committed],
        ended: CommitEnded,
        operations: GroupOperations,
        deadline_ms: float | None,
    ) -> None:
        self.offsets = offsets
        self.ended = ended
        self.operations = operations
        self.deadline_ms = deadline_ms
        self.over = False
        self.said = NOBODY


class CoordinatorOffsets:
    """Of one group. `key` begins the names of its timer; it is this owner's alone on its node. `membership`: of the
    consumer whose offsets these are, if it is a member."""

    def __init__(
        self,
        key: str,
        brokers: list[str],
        operations: OperationLog,
        settings: ConsumerSettings,
        chance: Chance,
    ) -> None:
        self._key = key
        self._operations = operations
        self._settings = settings
        self.coordinator = Coordinator(brokers, settings, chance)
        self.coordinator.users.append(self._due)
        self.coordinator.refused.append(self._not_to_be_found)
        self.membership: Membership | None = None
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

    def may_pass(self, error: int | str) -> bool:
        """See OffsetStore."""
        if error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return self._settings.retries_commits_to_unknown_topics
        return error in (DISCONNECTED, TIMED_OUT) if isinstance(error, str) else error in _LATER

    def _due(self, now: Now, out: Outbox) -> None:
        self._run(now, out)
        self.handled(now, out)

    def poll(self, now: Now, out: Outbox) -> None:
        """Do what can be done now: somebody else has used the coordinator."""
        self._run(now, out)

    def close(self, now: Now, out: Outbox) -> None:
        """See OffsetStore."""
        self._closed = True
        self.coordinator.close(out)
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
        if self._running or self.coordinator.handling or self._closed:
            return
        self._running = True
        self.coordinator.poll(now, out)
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
        if self._under_way and asked is self._asked[0]:
            asked.operations.attempt_ended(out, NO_ANSWER, why)
        asked.operations.end(out, error)

    def _send(self, now: Now, out: Outbox) -> bool:
        """The first question."""
        if not self.coordinator.ready(now, out):
            return False
        first, wait_ms = self._asked[0], self._settings.request_timeout_ms
        if isinstance(first, _Commit) and self.membership is not None:
            said = self.membership.identity()
            if isinstance(said, str):
                self._commit_ended(now, out, said)
                return True
            first.said = said
        broker = self.coordinator.broker
        first.operations.sent(out, NO_BROKER if broker is None else broker, wait_ms)
        self._under_way = True
        self.coordinator.ask(now, out, self._request(first), self._answered, wait_ms=wait_ms)
        return True

    def _request(self, asked: _Look | _Commit) -> Message:
        group = self._settings.group_id
        if isinstance(asked, _Look):
            return OffsetFetchRequest(group, [GroupPartition(*topic_partition) for topic_partition in asked.partitions])
        partitions = [
            OffsetToCommit(*topic_partition, each.offset, each.leader_epoch)
            for topic_partition, each in asked.offsets.items()
        ]
        said = asked.said
        return OffsetCommitRequest(group, partitions, said.generation, said.member, said.instance)

    def _set_timer(self, now: Now, out: Outbox) -> None:
        deadlines_ms = self.coordinator.deadlines_ms(wanted=bool(self._asked))
        if self._asked and not self._under_way:
            deadlines_ms.append(self._not_before_ms)
        for asked in self._asked:
            if isinstance(asked, _Commit) and asked.deadline_ms is not None and not asked.over:
                deadlines_ms.append(asked.deadline_ms)
        self._timer.set(now, out, deadlines_ms)

    # --- answers --------------------------------------------------------------------------------------------

    def _not_to_be_found(self, now: Now, out: Outbox, error: int) -> None:
        """Nobody coordinates such a group. Nothing was asked of whoever it would have been."""
        if self._asked and not self._under_way and not self._closed:
            self._failed(now, out, error, again=False)

    def _answered(self, now: Now, out: Outbox, answer: Message | Failure) -> None:
        if self._closed:
            return
        self._under_way = False
        first = self._asked[0]
        if isinstance(first, _Commit) and first.over:
            self._asked.popleft()
            if isinstance(answer, Failure):
                self._later(now)
            return
        match answer:
            case Failure(error=name, reason=reason):
                first.operations.attempt_ended(out, NO_ANSWER, f"{name}: {reason}")
                self._failed(now, out, DISCONNECTED, again=True)
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
            self.coordinator.is_none()
        first = self._asked[0]
        if isinstance(first, _Commit) and self.membership is not None:
            self.membership.commit_refused(now, out, error, first.said)
        self._failed(now, out, error, again=self.may_pass(error))

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
        if self.coordinator.broker is None:
            self.coordinator.later(now)

    def _commit_ended(self, now: Now, out: Outbox, error: int | str) -> None:
        first = self._asked.popleft()
        assert isinstance(first, _Commit), first
        first.operations.end(out, error)
        first.ended(now, out, error)
