"""A member of a group, as Kafka's Java consumer is one (AbstractCoordinator): it joins, is given its partitions, and is
heard of. Semantics 6 ("Members of a group").

    out --JoinGroup--> joining --answered--> syncing --SyncGroup answered--> stable --REBALANCE_IN_PROGRESS--> out
                                                                             --refused: it is a stranger--> out

Before it joins again its consumer commits and lets its partitions go (`Owner.prepare`); a stranger has lost them. The
member whom the coordinator calls the leader assigns (`assignors`). Nobody tells a member that is cut off: it goes on
with what it has until somebody answers.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from emulator.machines.client.assignors import Candidate, assignors_named
from emulator.machines.client.client_settings import ConsumerSettings
from emulator.machines.client.coordinator import ELSEWHERE, Coordinator
from emulator.machines.client.deadlines import NEVER, PollTimer, is_due
from emulator.machines.client.failure import Failure
from emulator.machines.client.member_identity import Identity
from protocol.errors import ErrorCode, error_name
from protocol.events import GroupMemberChanged
from protocol.ids import TopicPartition, partitions_text
from protocol.machine import Now
from protocol.messages.base import Message
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
"""How much longer than a rebalance may take a member waits for the answer to its JoinGroup."""
TOPICS_MAX = 1_000
"""Of what a whole group reads: what is beyond is given to nobody."""
LEAVE_WAIT_MS = 30_000.0
"""For the answer to LeaveGroup, at most; Java's close()."""

State = Literal["out", "joining", "syncing", "stable"]

_STRANGER = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
"""After these it is a member no more, and joins as a new one."""
_AGAIN = _STRANGER | {ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS}
"""It joins again at once."""
_LATER = ELSEWHERE | {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
"""It joins again in retry.backoff.ms."""


class Owner(Protocol):
    """The consumer, to its member."""

    def partition_counts(self, topics: Sequence[str]) -> dict[str, int]:
        """How many partitions each has, as far as its metadata tell, which they will of those that they do not yet."""
        ...

    def owned(self) -> list[TopicPartition]:
        """What it reads."""
        ...

    def prepare(self, now: Now, out: Outbox, *, commit: bool, give_up: bool, prepared: Due) -> None:
        """Before the group is joined again: commit, if that is automatic and it is still a member, and let go of what
        it has, if it is to `give_up`; then say `prepared`."""
        ...

    def assigned(self, now: Now, out: Outbox, added: list[TopicPartition], revoked: list[TopicPartition]) -> None:
        """These are its own from now on, and those not any more."""
        ...

    def member_failed(self, now: Now, out: Outbox, error: str) -> None:
        """It will not be a member again: Java's poll() throws."""
        ...


class GroupMember:
    """Of the group in the settings. `key` begins the name of its timer; it is this owner's alone on its node. `client`:
    part of the id that it is given. `handled` is called when an input has been handled."""

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
        self._counts: dict[str, int] | None = None
        """How many partitions the topics had that the group reads, when this one assigned; None: it does not lead."""
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
        """How often it was given an assignment."""
        self.lost = 0
        """Partitions that were another's before it knew."""
        self.refused_commits = 0
        """Commits that the coordinator did not take from it."""
        coordinator.users.append(self._due)
        coordinator.refused.append(self._fail)
        coordinator.found.append(self._found)

    # --- what its consumer asks of it -----------------------------------------------------------------------

    def subscribe(self, now: Now, out: Outbox, topics: Sequence[str]) -> None:
        """Join, and stay."""
        self._topics = tuple(topics)
        self._rejoin = self._prepare = True
        self.poll(now, out)

    def poll(self, now: Now, out: Outbox) -> None:
        """Do what can be done now."""
        if self._running or self._closed or self._coordinator.handling:
            return
        self._running = True
        self._coordinator.poll(now, out)
        if self._left is not None:
            if is_due(now, self._leave_by_ms):
                self._has_left(now, out)
        elif self._topics:
            self._look_at_metadata()
            self._be_heard_of(now, out)
            self._join(now, out)
        self._running = False
        if not self._closed:
            self._set_timer(now, out)

    def begin_to_leave(self) -> None:
        """It is heard of while its consumer commits for the last time, and joins no more."""
        self._leaving = True

    def leave(self, now: Now, out: Outbox, left: Due) -> None:
        """Say so, if it is a member and no static one, and wait for the answer. Positions are the consumer's matter."""
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
        """Without a word to the coordinator."""
        self._closed = True
        self._timer.cancel(out)

    def identity(self) -> Identity | str:
        """As whom it commits now, or why it must not (Membership)."""
        if self._state == "stable":
            return self._said()
        known = self._settings.stays_member_when_commit_meets_rebalance and self._state != "out"
        return "RebalanceInProgressException" if known else "CommitFailedException"

    def commit_refused(self, now: Now, out: Outbox, error: int, said: Identity) -> None:
        """See Membership."""
        if error in _STRANGER or error in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.FENCED_INSTANCE_ID):
            self.refused_commits += 1
        if error == ErrorCode.REBALANCE_IN_PROGRESS:
            if self._settings.stays_member_when_commit_meets_rebalance:
                self._rejoin = True
            else:
                self._is_stranger(out, error, said)
        elif error in _STRANGER:
            self._is_stranger(out, error, said)
        elif error == ErrorCode.FENCED_INSTANCE_ID:
            self._fail(now, out, error)

    @property
    def is_stable(self) -> bool:
        return self._state == "stable"

    @property
    def is_settled(self) -> bool:
        """It has its assignment, nothing asks it to join again, and its coordinator is known."""
        return self._state == "stable" and not self._rejoin and self._coordinator.broker is not None

    # --- being heard of -------------------------------------------------------------------------------------

    def _is_heard_of(self) -> bool:
        return self._state == "stable" or (self._state == "syncing" and self._settings.heartbeats_while_rebalancing)

    def _be_heard_of(self, now: Now, out: Outbox) -> None:
        if not self._is_heard_of():
            return
        if is_due(now, self._session_ends_ms) and self._coordinator.broker is not None:
            # Nobody has answered for as long: the coordinator may be another by now. It stays a member meanwhile.
            self._coordinator.is_silent(now, out)
        if not self._coordinator.ready(now, out) or not is_due(now, self._heartbeat_at_ms):
            return
        self._heartbeat_at_ms = now.mono_ms + self._settings.heartbeat_interval_ms
        said = self._said()
        request = HeartbeatRequest(self._settings.group_id, said.generation, said.member, said.instance)

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            self._heartbeat_answered(now, out, said, answer)

        self._coordinator.ask(now, out, request, answered, wait_ms=self._settings.request_timeout_ms)

    def _heartbeat_answered(self, now: Now, out: Outbox, said: Identity, answer: Message | Failure) -> None:
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
        elif error in _STRANGER:
            self._is_stranger(out, error, said)
        else:
            self._fail(now, out, error)

    def _found(self, now: Now, out: Outbox) -> None:
        """There is a coordinator: it has a session's time to answer."""
        self._session_begins(now)

    def _session_begins(self, now: Now) -> None:
        self._session_ends_ms = now.mono_ms + self._settings.session_timeout_ms

    def _is_told_of(self, now: Now) -> None:
        """JoinGroup or SyncGroup was answered: as good as a heartbeat."""
        self._session_begins(now)
        self._heartbeat_at_ms = now.mono_ms + self._settings.heartbeat_interval_ms

    def _heartbeat_again(self, now: Now) -> None:
        """Sooner than it would be time for one."""
        self._heartbeat_at_ms = min(self._heartbeat_at_ms, now.mono_ms + self._settings.retry_backoff_ms)

    def _said(self) -> Identity:
        return Identity(self._generation, self._member, self._instance)

    def _is_stranger(self, out: Outbox, error: int, said: Identity) -> None:
        """The coordinator knows nobody of that name, or of that generation."""
        if self._settings.ignores_refusals_of_old_generations and said != self._said():
            return
        if self._member:
            self._change(out, "refused", (), error_name(error))
        self._state, self._generation, self._member = "out", NO_GENERATION, ""
        self._counts = None
        self._rejoin = self._prepare = True

    # --- joining --------------------------------------------------------------------------------------------

    def _look_at_metadata(self) -> None:
        """The leader sees to it that partitions that came later, or that it has heard of later, are assigned."""
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
            self._let_go(now, out)
        if self._preparing or self._closed or not self._coordinator.ready(now, out):
            return
        settings, said = self._settings, self._said()
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
                self._join_answered(now, out, said, answer)

        self._coordinator.ask(now, out, request, answered, wait_ms=wait_ms, version=settings.join_version)

    def _let_go(self, now: Now, out: Outbox) -> None:
        """What the consumer has is let go of, once; a stranger has lost it, however members share."""
        stranger = self._generation == NO_GENERATION and not self._member
        owned = self._owner.owned()
        gives_up = stranger or not self._cooperative
        self._prepare, self._preparing = False, True

        def prepared(now: Now, out: Outbox) -> None:
            self._preparing = False
            if gives_up and owned:
                self.lost += len(owned) if stranger else 0
                told = stranger and self._settings.tells_lost_partitions
                self._change(out, "lost" if told else "revoked", owned)
            self.poll(now, out)

        self._owner.prepare(now, out, commit=self._state == "stable", give_up=gives_up, prepared=prepared)

    def _join_answered(self, now: Now, out: Outbox, said: Identity, answer: JoinGroupResponse) -> None:
        error = answer.error
        if error == ErrorCode.NONE and self._state == "joining":
            self._generation, self._member, self._protocol = answer.generation, answer.member, answer.protocol
            self._state = "syncing"
            self._is_told_of(now)
            leads = answer.leader == answer.member
            self._counts = None
            self._change(out, "joined", (), "leader" if leads else "")
            self._sync(now, out, self._assignments(answer) if leads else [])
        elif error == ErrorCode.MEMBER_ID_REQUIRED:
            self._member = answer.member
        else:
            self._refused(now, out, error, said)

    def _assignments(self, answer: JoinGroupResponse) -> list[MemberAssignment]:
        """By this member, who leads: of everybody, as far as what they say can be read."""
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
        said = self._said()
        request = SyncGroupRequest(self._settings.group_id, said.generation, said.member, assignments, said.instance)
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
                if answer.error == ErrorCode.NONE and self._state == "syncing" and said == self._said():
                    self._synced(now, out, answer)
                else:
                    self._refused(now, out, answer.error, said)

        self._coordinator.ask(now, out, request, answered, wait_ms=self._settings.request_timeout_ms)

    def _synced(self, now: Now, out: Outbox, answer: SyncGroupResponse) -> None:
        try:
            given = set(decode_assignment(answer.assignment))
        except UnreadableRecord as problem:
            self._fail(now, out, str(problem))
            return
        self._state, self._rejoin, self._prepare = "stable", False, True
        self._is_told_of(now)
        self.joined += 1
        owned = set(self._owner.owned())
        added, revoked = sorted(given - owned), sorted(owned - given)
        if revoked:
            # Of a cooperative strategy: what this member lets go of is assigned in the generation after this one.
            self._change(out, "revoked", revoked)
            self._rejoin = True
        self._change(out, "assigned", added)
        self._owner.assigned(now, out, added, revoked)

    def _refused(self, now: Now, out: Outbox, error: int, said: Identity) -> None:
        """JoinGroup, or SyncGroup; or what was answered is of no use any more."""
        if error in _STRANGER:
            self._is_stranger(out, error, said)
        elif error in _LATER:
            if error in ELSEWHERE:
                self._coordinator.is_none()
            self._not_before_ms = now.mono_ms + self._settings.retry_backoff_ms
        elif error != ErrorCode.NONE and error not in _AGAIN:
            self._fail(now, out, error)

    def _fail(self, now: Now, out: Outbox, error: int | str) -> None:
        """No member again: another has come with its group.instance.id, the group shares in another way, ..."""
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
        joins, heard = self._joins(), self._is_heard_of()
        deadlines_ms = self._coordinator.deadlines_ms(wanted=bool(self._topics) and (joins or heard))
        if self._left is not None:
            deadlines_ms.append(self._leave_by_ms)
        elif self._topics:
            if joins:
                deadlines_ms.append(self._not_before_ms)
            if heard:
                deadlines_ms += [self._heartbeat_at_ms, self._session_ends_ms]
        self._timer.set(now, out, deadlines_ms)
