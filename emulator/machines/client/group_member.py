"""A member of a group, as Kafka's Java consumer (AbstractCoordinator). Semantics 6.

It joins, receives its partitions, and sends heartbeats ("Members of a group").

    out --JoinGroup--> joining --answered--> syncing --SyncGroup answered--> stable --REBALANCE_IN_PROGRESS--> out
                                                                             --refused: unknown member--> out

Before it joins again its consumer commits and releases its partitions (`Owner.prepare`); an unknown member has lost
them. The group's leader, which the coordinator names, assigns (`assignors`). A partitioned member learns of
nothing: it keeps its partitions until a response comes.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from emulator.machines.client.assignors import Candidate, assignors_named
from emulator.machines.client.client_settings import ConsumerSettings
from emulator.machines.client.client_state import NO_MEMBER, Failure, Identity
from emulator.machines.client.coordinator import ELSEWHERE, Coordinator
from emulator.machines.client.deadlines import NEVER, PollTimer, is_due
from protocol.errors import ErrorCode, error_name
from protocol.events import GroupMemberChanged
from protocol.ids import TopicPartition, partitions_text
from protocol.machine import Now
from protocol.messages.membership import (
    NO_GENERATION,
    GroupProtocol,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocol.messages.message_base import Message
from protocol.outbox import Due, Outbox
from protocol.records.consumer_protocol import (
    PROTOCOL_TYPE,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from protocol.records.schema_fields import UnreadableRecord

JOIN_LAPSE_MS = 5_000.0
"""Time beyond the rebalance timeout for the response to JoinGroup."""
TOPICS_MAX = 1_000
"""Bound of the topics that a whole group reads; later ones stay unassigned."""
LEAVE_WAIT_MS = 30_000.0
"""Limit for the response to LeaveGroup; Java's close()."""

State = Literal["out", "joining", "syncing", "stable"]

_UNKNOWN_MEMBER = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
"""Errors after which the membership is lost; it joins as a new member."""
_AGAIN = _UNKNOWN_MEMBER | {ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS}
"""Errors after which it joins again at once."""
_LATER = ELSEWHERE | {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
"""Errors after which it joins again in retry.backoff.ms."""


class Owner(Protocol):
    """The consumer, as its member uses it."""

    def partition_counts(self, topics: Sequence[str]) -> dict[str, int]:
        """Numbers of partitions by topic; requests metadata of unknown topics."""
        ...

    def owned(self) -> list[TopicPartition]:
        """Partitions that it reads."""
        ...

    def prepare(self, now: Now, out: Outbox, *, commit: bool, give_up: bool, prepared: Due) -> None:
        """Prepare to join again: commit, if automatic and still a member; then `prepared`.

        `give_up`: also release its partitions.
        """
        ...

    def assigned(self, now: Now, out: Outbox, added: list[TopicPartition], revoked: list[TopicPartition]) -> None:
        """Begin reading `added`, stop reading `revoked`."""
        ...

    def member_failed(self, now: Now, out: Outbox, error: str) -> None:
        """Handle the end of membership: Java's poll() throws."""
        ...


class GroupMember:
    """Member of the group in the settings.

    `key` begins the name of its timer; it is unique on its node. `client`: part of its member id. `handled` is
    called after each input.
    """

    def __init__(
        self,
        key: str,
        client: str,
        kafka_version: str,
        coordinator: Coordinator,
        settings: ConsumerSettings,
        owner: Owner,
    ) -> None:
        self._client = client
        self._coordinator = coordinator
        self._settings = settings
        self._owner = owner
        self._assignors = assignors_named(settings.partition_assignment_strategy, kafka_version)
        self._cooperative = all(one.cooperative for one in self._assignors)
        self._topics: tuple[str, ...] = ()
        self._instance = settings.group_instance_id or None
        self._state: State = "out"
        self._generation = NO_GENERATION
        self._member = ""
        self._protocol = ""
        self._read: list[str] = []
        self.last_identity = NO_MEMBER
        """Identity of the last assignment, as Java's groupMetadata() has it, lost or not."""
        self._counts: dict[str, int] | None = None
        """Partitions of the group's topics at the last assignment; None: it is not the leader."""
        self._rejoin = self._prepare = False
        self._preparing = self._under_way = False
        self._not_before_ms = 0.0
        self._heartbeat_at_ms = self._session_ends_ms = NEVER
        self._left: Due | None = None
        self._leave_by_ms = NEVER
        self._timer = PollTimer(key, self._due)
        self._running = self._closed = self._leaving = False
        self.handled: Due = lambda now, out: None
        self.joined = 0
        """Count of assignments."""
        self.lost = 0
        """Partitions that belonged to another member before this one knew."""
        self.refused_commits = 0
        """Commits that the coordinator refused."""
        coordinator.users.append(self._due)
        coordinator.refused.append(self._fail)
        coordinator.found.append(self._found)

    # --- operations for its consumer ------------------------------------------------------------------------

    def subscribe(self, now: Now, out: Outbox, topics: Sequence[str]) -> None:
        """Join, and stay."""
        self._topics = tuple(topics)
        self._rejoin = self._prepare = True
        self.poll(now, out)

    def poll(self, now: Now, out: Outbox) -> None:
        """Do the work that is possible now."""
        if self._running or self._closed or self._coordinator.handling:
            return
        self._running = True
        self._coordinator.poll(now, out)
        if self._left is not None:
            if is_due(now, self._leave_by_ms):
                self._has_left(now, out)
        elif self._topics:
            self._look_at_metadata()
            self._heartbeat(now, out)
            self._join(now, out)
        self._running = False
        if not self._closed:
            self._set_timer(now, out)

    def begin_to_leave(self) -> None:
        """Send heartbeats while its consumer commits for the last time, but join no more."""
        self._leaving = True

    def leave(self, now: Now, out: Outbox, left: Due) -> None:
        """Send LeaveGroup, if it is a dynamic member, and wait for the response.

        Positions are the consumer's matter.
        """
        coordinator, member = self._coordinator, self._member
        if self._state == "out" or not member or self._instance is not None or not coordinator.ready(now, out):
            if member:
                self._change(out, "left", self._owner.owned())
            left(now, out)
            return
        self._left, self._leave_by_ms = left, now.mono_ms + LEAVE_WAIT_MS
        request = LeaveGroupRequest(self._settings.group_id, [LeavingMember(member)])

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            if self._left is not None:
                self._has_left(now, out)

        coordinator.ask(now, out, request, answered, wait_ms=self._settings.request_timeout_ms)
        self._set_timer(now, out)

    def close(self, out: Outbox) -> None:
        """Close without a request to the coordinator."""
        self._closed = True
        self._timer.cancel(out)

    def identity(self) -> Identity | str:
        """Identity to commit with now, or the exception if it must not (Membership)."""
        if self._state == "stable":
            return self._own_identity()
        known = self._settings.stays_member_when_commit_meets_rebalance and self._state != "out"
        return "RebalanceInProgressException" if known else "CommitFailedException"

    def commit_refused(self, now: Now, out: Outbox, error: int, identity: Identity) -> None:
        """See Membership."""
        if error in _UNKNOWN_MEMBER or error in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.FENCED_INSTANCE_ID):
            self.refused_commits += 1
        if error == ErrorCode.REBALANCE_IN_PROGRESS:
            if self._settings.stays_member_when_commit_meets_rebalance:
                self._rejoin = True
            else:
                self._lose_membership(out, error, identity)
        elif error in _UNKNOWN_MEMBER:
            self._lose_membership(out, error, identity)
        elif error == ErrorCode.FENCED_INSTANCE_ID:
            self._fail(now, out, error)

    @property
    def is_stable(self) -> bool:
        return self._state == "stable"

    @property
    def is_settled(self) -> bool:
        """Whether it is stable, has no reason to join again, and knows its coordinator."""
        return self._state == "stable" and not self._rejoin and self._coordinator.broker is not None

    # --- heartbeats -----------------------------------------------------------------------------------------

    def _sends_heartbeats(self) -> bool:
        return self._state == "stable" or (self._state == "syncing" and self._settings.heartbeats_while_rebalancing)

    def _heartbeat(self, now: Now, out: Outbox) -> None:
        if not self._sends_heartbeats():
            return
        if is_due(now, self._session_ends_ms) and self._coordinator.broker is not None:
            # No response for the session's time: the coordinator may be another by now. It stays a member meanwhile.
            self._coordinator.is_silent(now, out)
        if not self._coordinator.ready(now, out) or not is_due(now, self._heartbeat_at_ms):
            return
        self._heartbeat_at_ms = now.mono_ms + self._settings.heartbeat_interval_ms
        identity = self._own_identity()
        request = HeartbeatRequest(self._settings.group_id, identity.generation, identity.member, identity.instance)

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            self._heartbeat_answered(now, out, identity, answer)

        self._coordinator.ask(now, out, request, answered, wait_ms=self._settings.request_timeout_ms)

    def _heartbeat_answered(self, now: Now, out: Outbox, identity: Identity, answer: Message | Failure) -> None:
        if self._closed:
            return
        if isinstance(answer, Failure):
            self._heartbeat_again(now)
            return
        assert isinstance(answer, HeartbeatResponse), answer
        error = answer.error
        if error in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._session_begins(now)
            if error and self._state == "stable":
                self._rejoin = True
            return
        self._heartbeat_again(now)
        if error in ELSEWHERE:
            self._coordinator.is_none()
        elif error in _UNKNOWN_MEMBER:
            self._lose_membership(out, error, identity)
        else:
            self._fail(now, out, error)

    def _found(self, now: Now, out: Outbox) -> None:
        """Give a new coordinator a session's time to respond."""
        self._session_begins(now)

    def _session_begins(self, now: Now) -> None:
        self._session_ends_ms = now.mono_ms + self._settings.session_timeout_ms

    def _note_response(self, now: Now) -> None:
        """Count a response to JoinGroup or SyncGroup as a heartbeat's."""
        self._session_begins(now)
        self._heartbeat_at_ms = now.mono_ms + self._settings.heartbeat_interval_ms

    def _heartbeat_again(self, now: Now) -> None:
        """Send the next heartbeat sooner than by the interval."""
        self._heartbeat_at_ms = min(self._heartbeat_at_ms, now.mono_ms + self._settings.retry_backoff_ms)

    def _own_identity(self) -> Identity:
        return Identity(self._generation, self._member, self._instance)

    def _lose_membership(self, out: Outbox, error: int, identity: Identity) -> None:
        """Lose the membership: the coordinator does not know the member, or the generation."""
        if self._settings.ignores_refusals_of_old_generations and identity != self._own_identity():
            return
        if self._member:
            self._change(out, "refused", (), error_name(error))
        self._state, self._generation, self._member = "out", NO_GENERATION, ""
        self._counts = None
        self._rejoin = self._prepare = True

    # --- joining --------------------------------------------------------------------------------------------

    def _look_at_metadata(self) -> None:
        """As leader, join again for partitions that were added, or learned of, later."""
        if self._state == "stable" and self._counts is not None and not self._rejoin:
            self._rejoin = self._owner.partition_counts(self._read) != self._counts

    def _joins(self) -> bool:
        return self._rejoin and not self._under_way and not self._preparing and not self._leaving

    def _join(self, now: Now, out: Outbox) -> None:
        if not self._joins() or not is_due(now, self._not_before_ms):
            return
        if not self._coordinator.ready(now, out):
            return
        if self._prepare:
            self._release(now, out)
        if self._preparing or self._closed or not self._coordinator.ready(now, out):
            return
        settings, identity = self._settings, self._own_identity()
        subscription = Subscription(self._topics, tuple(self._owner.owned()) if self._cooperative else ())
        metadata = encode_subscription(subscription, settings.subscription_version)
        request = JoinGroupRequest(
            settings.group_id,
            self._member,
            settings.session_timeout_ms,
            settings.max_poll_interval_ms,
            PROTOCOL_TYPE,
            [GroupProtocol(one.name, metadata) for one in self._assignors],
            self._instance,
            self._client,
        )
        wait_ms = settings.request_timeout_ms
        if settings.join_waits_for_rebalance:
            wait_ms = max(wait_ms, settings.max_poll_interval_ms + JOIN_LAPSE_MS)
        self._under_way = True
        self._state = "joining"

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            self._under_way = False
            if isinstance(answer, Failure):
                self._not_before_ms = now.mono_ms + settings.retry_backoff_ms
            elif not self._closed and self._left is None:
                assert isinstance(answer, JoinGroupResponse), answer
                self._join_answered(now, out, identity, answer)

        self._coordinator.ask(now, out, request, answered, wait_ms=wait_ms, version=settings.join_version)

    def _release(self, now: Now, out: Outbox) -> None:
        """Release the consumer's partitions, once; an unknown member has lost them."""
        unknown = self._generation == NO_GENERATION and not self._member
        owned = self._owner.owned()
        gives_up = unknown or not self._cooperative
        self._prepare, self._preparing = False, True

        def prepared(now: Now, out: Outbox) -> None:
            self._preparing = False
            if gives_up and owned:
                self.lost += len(owned) if unknown else 0
                reports_lost = unknown and self._settings.reports_lost_partitions
                self._change(out, "lost" if reports_lost else "revoked", owned)
            self.poll(now, out)

        self._owner.prepare(now, out, commit=self._state == "stable", give_up=gives_up, prepared=prepared)

    def _join_answered(self, now: Now, out: Outbox, identity: Identity, answer: JoinGroupResponse) -> None:
        error = answer.error
        if error == ErrorCode.NONE and self._state == "joining":
            self._generation, self._member, self._protocol = answer.generation, answer.member, answer.protocol
            self._state = "syncing"
            self._note_response(now)
            leads = answer.leader == answer.member
            self._counts = None
            self._change(out, "joined", (), "leader" if leads else "")
            self._sync(now, out, self._assignments(answer) if leads else [])
        elif error == ErrorCode.MEMBER_ID_REQUIRED:
            self._member = answer.member
        else:
            self._refused(now, out, error, identity)

    def _assignments(self, answer: JoinGroupResponse) -> list[MemberAssignment]:
        """Assignments by this member as leader; an unreadable subscription counts as empty."""
        assignor = next(one for one in self._assignors if one.name == answer.protocol)
        candidates: list[Candidate] = []
        for one in answer.members:
            try:
                candidates.append(Candidate(one.member, decode_subscription(one.metadata), one.instance))
            except UnreadableRecord:
                candidates.append(Candidate(one.member, Subscription(()), one.instance))
        self._read = sorted({topic for one in candidates for topic in one.subscription.topics})[:TOPICS_MAX]
        self._counts = self._owner.partition_counts(self._read)
        assigned = assignor.assign(candidates, self._counts)
        version = self._settings.subscription_version
        return [MemberAssignment(member, encode_assignment(its, version)) for member, its in assigned.items()]

    def _sync(self, now: Now, out: Outbox, assignments: list[MemberAssignment]) -> None:
        identity = self._own_identity()
        request = SyncGroupRequest(
            self._settings.group_id, identity.generation, identity.member, assignments, identity.instance
        )
        if not self._coordinator.ready(now, out):
            self._not_before_ms = now.mono_ms + self._settings.retry_backoff_ms
            return
        self._under_way = True

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            self._under_way = False
            if isinstance(answer, Failure):
                self._not_before_ms = now.mono_ms + self._settings.retry_backoff_ms
            elif not self._closed and self._left is None:
                assert isinstance(answer, SyncGroupResponse), answer
                if answer.error == ErrorCode.NONE and self._state == "syncing" and identity == self._own_identity():
                    self._synced(now, out, answer)
                else:
                    self._refused(now, out, answer.error, identity)

        self._coordinator.ask(now, out, request, answered, wait_ms=self._settings.request_timeout_ms)

    def _synced(self, now: Now, out: Outbox, answer: SyncGroupResponse) -> None:
        try:
            given = set(decode_assignment(answer.assignment))
        except UnreadableRecord as problem:
            self._fail(now, out, str(problem))
            return
        self._state, self._rejoin, self._prepare = "stable", False, True
        self.last_identity = self._own_identity()
        self._note_response(now)
        self.joined += 1
        owned = set(self._owner.owned())
        added, revoked = sorted(given - owned), sorted(owned - given)
        if revoked:
            # With a cooperative strategy the next generation assigns the partitions that this member releases.
            self._change(out, "revoked", revoked)
            self._rejoin = True
        self._change(out, "assigned", added)
        self._owner.assigned(now, out, added, revoked)

    def _refused(self, now: Now, out: Outbox, error: int, identity: Identity) -> None:
        """Handle an error of JoinGroup or SyncGroup, or an outdated response."""
        if error in _UNKNOWN_MEMBER:
            self._lose_membership(out, error, identity)
        elif error in _LATER:
            if error in ELSEWHERE:
                self._coordinator.is_none()
            self._not_before_ms = now.mono_ms + self._settings.retry_backoff_ms
        elif error != ErrorCode.NONE and error not in _AGAIN:
            self._fail(now, out, error)

    def _fail(self, now: Now, out: Outbox, error: int | str) -> None:
        """End the membership for good: a fenced group.instance.id, an incompatible strategy, ..."""
        if self._closed or not self._topics:
            return
        name = error_name(error) if isinstance(error, int) else error
        self._change(out, "failed", self._owner.owned(), name)
        self._topics = ()
        self._state, self._generation, self._member = "out", NO_GENERATION, ""
        self._owner.member_failed(now, out, name)

    def _has_left(self, now: Now, out: Outbox) -> None:
        assert self._left is not None
        left, self._left = self._left, None
        self._change(out, "left", self._owner.owned())
        self._state, self._topics = "out", ()
        left(now, out)

    # --- private --------------------------------------------------------------------------------------------

    def _change(self, out: Outbox, change: str, partitions: Sequence[TopicPartition], reason: str = "") -> None:
        event = GroupMemberChanged(
            self._settings.group_id, self._member, self._instance or "", self._generation, change,
            partitions_text(partitions), reason,
        )  # fmt: skip
        out.emit(event)

    def _due(self, now: Now, out: Outbox) -> None:
        self.poll(now, out)
        self.handled(now, out)

    def _set_timer(self, now: Now, out: Outbox) -> None:
        joins, heartbeats = self._joins(), self._sends_heartbeats()
        deadlines_ms = self._coordinator.deadlines_ms(wanted=bool(self._topics) and (joins or heartbeats))
        if self._left is not None:
            deadlines_ms.append(self._leave_by_ms)
        elif self._topics:
            if joins:
                deadlines_ms.append(self._not_before_ms)
            if heartbeats:
                deadlines_ms += [self._heartbeat_at_ms, self._session_ends_ms]
        self._timer.set(now, out, deadlines_ms)
