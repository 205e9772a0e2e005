"""Committed offsets of the new consumer, at its group's coordinator. Semantics 6.

One request at a time, over a connection of its own, so that no parked fetch holds a commit up. The client looks up
the coordinator again after a lost connection, or error 15, 16 or 7. A member of the group commits with its
generation. Without one it does not commit at all: its partitions may belong to another member.
"""

from collections import deque
from collections.abc import Mapping
from typing import Protocol

from emulator.machines.client.client_operations import NO_ANSWER, OperationLog
from emulator.machines.client.client_settings import ConsumerSettings
from emulator.machines.client.client_state import NO_MEMBER, Failure, Identity
from emulator.machines.client.coordinator import ELSEWHERE, Coordinator
from emulator.machines.client.deadlines import PollTimer, is_due
from emulator.machines.client.offset_store import (
    CALLS_MAX,
    TIMED_OUT,
    CommitEnded,
    Committed,
    GroupOperations,
    Looked,
    look_operations,
)
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, TopicPartition
from protocol.machine import Now
from protocol.messages.groups import (
    GroupPartition,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from protocol.messages.message_base import Message
from protocol.outbox import Due, Outbox

_ELSEWHERE = ELSEWHERE | {ErrorCode.REQUEST_TIMED_OUT}
"""Errors after which the client looks up the coordinator again."""
_LATER = _ELSEWHERE | {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
"""Errors after which a retry may succeed."""

DISCONNECTED = "DisconnectException"
"""Error of a commit without a response, as Java's exception."""


class Membership(Protocol):
    """A consumer's group membership, as commits need it."""

    def identity(self) -> Identity | str:
        """Identity to commit with, or Java's exception if it must not commit now."""
        ...

    def commit_refused(self, now: Now, out: Outbox, error: int, identity: Identity) -> None:
        """Handle a refused commit; `identity`: of the commit."""
        ...


class _Look:
    __slots__ = ("looked", "operations", "partitions")

    def __init__(self, partitions: list[TopicPartition], looked: Looked, operations: GroupOperations) -> None:
        self.partitions = partitions
        self.looked = looked
        self.operations = operations


class _Commit:
    """A commit. `deadline_ms` None: a single try.

    `over`: its time ended while it was under way; the response is ignored.
    """

    __slots__ = ("deadline_ms", "ended", "identity", "offsets", "operations", "over")

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
        self.identity = NO_MEMBER


class CoordinatorOffsets:
    """Committed offsets of one group.

    `key` begins the name of its timer; it is unique on its node. `membership`: of the consumer whose offsets these
    are, if it is a member.
    """

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
        self._calls: deque[_Look | _Commit] = deque()
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
        """Send what is possible now: another user of the coordinator has changed its state."""
        self._run(now, out)

    def close(self, now: Now, out: Outbox) -> None:
        """See OffsetStore."""
        self._closed = True
        self.coordinator.close(out)
        self._timer.cancel(out)
        for call in self._calls:
            if isinstance(call, _Look) or not call.over:
                self._give_up(out, call, "the consumer was closed", "KafkaException")
        self._calls.clear()

    @property
    def closed(self) -> bool:
        """See OffsetStore."""
        return self._closed

    # --- one round ------------------------------------------------------------------------------------------

    def _ask(self, now: Now, out: Outbox, call: _Look | _Commit) -> None:
        assert len(self._calls) < CALLS_MAX and not self._closed, f"{self._key}: {len(self._calls)} calls wait"
        self._calls.append(call)
        self._run(now, out)

    def _run(self, now: Now, out: Outbox) -> None:
        if self._running or self.coordinator.handling or self._closed:
            return
        self._running = True
        self.coordinator.poll(now, out)
        self._end_expired(now, out)
        while self._calls and not self._under_way and not self._closed:
            if not is_due(now, self._not_before_ms) or not self._send(now, out):
                break
        self._running = False
        if not self._closed:
            self._set_timer(now, out)

    def _end_expired(self, now: Now, out: Outbox) -> None:
        """End commits whose time is over, waiting or under way."""
        for call in list(self._calls):
            if not isinstance(call, _Commit) or call.over or self._closed:
                continue
            if call.deadline_ms is None or not is_due(now, call.deadline_ms):
                continue
            self._give_up(out, call, "its time is over", TIMED_OUT)
            if self._under_way and call is self._calls[0]:
                call.over = True
            else:
                self._calls.remove(call)
            call.ended(now, out, TIMED_OUT)

    def _give_up(self, out: Outbox, call: _Look | _Commit, why: str, error: str) -> None:
        """End a call's operations: an attempt without a response may have been done."""
        if self._under_way and call is self._calls[0]:
            call.operations.attempt_ended(out, NO_ANSWER, why)
        call.operations.end(out, error)

    def _send(self, now: Now, out: Outbox) -> bool:
        """Send the first call."""
        if not self.coordinator.ready(now, out):
            return False
        first, wait_ms = self._calls[0], self._settings.request_timeout_ms
        if isinstance(first, _Commit) and self.membership is not None:
            identity = self.membership.identity()
            if isinstance(identity, str):
                self._commit_ended(now, out, identity)
                return True
            first.identity = identity
        broker = self.coordinator.broker
        first.operations.sent(out, NO_BROKER if broker is None else broker, wait_ms)
        self._under_way = True
        self.coordinator.ask(now, out, self._request(first), self._answered, wait_ms=wait_ms)
        return True

    def _request(self, call: _Look | _Commit) -> Message:
        group = self._settings.group_id
        if isinstance(call, _Look):
            places = [GroupPartition(*topic_partition) for topic_partition in call.partitions]
            return OffsetFetchRequest(group, places, stable=self._settings.requests_stable_offsets)
        partitions = [
            OffsetToCommit(*topic_partition, each.offset, each.leader_epoch)
            for topic_partition, each in call.offsets.items()
        ]
        identity = call.identity
        return OffsetCommitRequest(group, partitions, identity.generation, identity.member, identity.instance)

    def _set_timer(self, now: Now, out: Outbox) -> None:
        deadlines_ms = self.coordinator.deadlines_ms(wanted=bool(self._calls))
        if self._calls and not self._under_way:
            deadlines_ms.append(self._not_before_ms)
        for call in self._calls:
            if isinstance(call, _Commit) and call.deadline_ms is not None and not call.over:
                deadlines_ms.append(call.deadline_ms)
        self._timer.set(now, out, deadlines_ms)

    # --- answers --------------------------------------------------------------------------------------------

    def _not_to_be_found(self, now: Now, out: Outbox, error: int) -> None:
        """Fail the first call: the group has no coordinator, and no broker received the call."""
        if self._calls and not self._under_way and not self._closed:
            self._failed(now, out, error, again=False)

    def _answered(self, now: Now, out: Outbox, answer: Message | Failure) -> None:
        if self._closed:
            return
        self._under_way = False
        first = self._calls[0]
        if isinstance(first, _Commit) and first.over:
            self._calls.popleft()
            if isinstance(answer, Failure):
                self._later(now)
            return
        match answer:
            case Failure(error=name, reason=reason):
                first.operations.attempt_ended(out, NO_ANSWER, f"{name}: {reason}")
                self._failed(now, out, DISCONNECTED, again=True)
            case OffsetFetchResponse(error=ErrorCode.NONE, partitions=partitions):
                assert isinstance(first, _Look), first
                if any(each.error == ErrorCode.UNSTABLE_OFFSET_COMMIT for each in partitions):
                    # It is part of an open transaction, whose end decides (KIP-447).
                    first.operations.attempt_ended(out, ErrorCode.UNSTABLE_OFFSET_COMMIT)
                    self._later(now)
                    return
                first.operations.attempt_ended(out, ErrorCode.NONE)
                self._calls.popleft()
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
        """Handle an error of the presumed coordinator."""
        if error in _ELSEWHERE:
            self.coordinator.is_none()
        first = self._calls[0]
        if isinstance(first, _Commit) and self.membership is not None:
            self.membership.commit_refused(now, out, error, first.identity)
        self._failed(now, out, error, again=self.may_pass(error))

    def _failed(self, now: Now, out: Outbox, error: int | str, *, again: bool) -> None:
        first = self._calls[0]
        if again and (isinstance(first, _Look) or first.deadline_ms is not None):
            self._later(now)
        elif isinstance(first, _Look):
            self._calls.popleft()
            first.operations.end(out, error)
            first.looked(now, out, {}, error)
        else:
            self._commit_ended(now, out, error)

    def _later(self, now: Now) -> None:
        self._not_before_ms = now.mono_ms + self._settings.retry_backoff_ms
        if self.coordinator.broker is None:
            self.coordinator.later(now)

    def _commit_ended(self, now: Now, out: Outbox, error: int | str) -> None:
        first = self._calls.popleft()
        assert isinstance(first, _Commit), first
        first.operations.end(out, error)
        first.ended(now, out, error)
