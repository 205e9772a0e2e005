"""Members of groups: joins, heartbeats, departures (Kafka's GroupCoordinator). Pure.

A later coordinator of a group finds its members in the offsets topic, and goes on with them (`loaded`).
"""

from collections.abc import Callable, Mapping
from functools import partial

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.group_rebalance import REBALANCE, SESSION, Rebalance, Store
from emulator.machines.broker.group_state import Group, Member, State
from emulator.machines.broker.request_channel import Request
from protocol.errors import ErrorCode
from protocol.messages.groups import OffsetCommitRequest
from protocol.messages.membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocol.messages.transactions import TxnOffsetCommitRequest
from protocol.records.group_metadata import StoredGroup
from protocol.work import Work

PENDING = "group-pending"
FIRST_WITH_MEMBER_ID = 4
"""First version of JOIN_GROUP in which a new member first receives its id (KIP-394)."""
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
GROUPS_MAX = 10_000
MEMBERS_MAX = 1_000
"""Bound of one group's members, whatever group.max.size; pending ones count."""


class GroupMembership:
    """Members of groups. `coordinated`: error if this broker does not coordinate a group."""

    def __init__(self, context: BrokerContext, coordinated: Callable[[str], ErrorCode], store: Store) -> None:
        self._context = context
        self._coordinated = coordinated
        self._rebalance = Rebalance(context, store, self._renew_session)
        self.groups: dict[str, Group] = {}
        """Groups by name."""

    # --- joining ---

    def join(self, request: Request, body: JoinGroupRequest) -> None:
        """Handle JoinGroup; the response follows when all members have joined, or with an error."""
        error = self._refused(body)
        group = self.groups.get(body.group)
        if error == ErrorCode.NONE and group is None:
            if body.member:
                error = ErrorCode.UNKNOWN_MEMBER_ID
            elif not self._has_room():
                error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            else:
                group = Group(body.group)
        if error == ErrorCode.NONE and group is not None:
            if not self._accepts(group, body.member):
                self._reject(group, body)
                error = ErrorCode.GROUP_MAX_SIZE_REACHED
            else:
                error = self._known(group, request, body) if body.member else self._new(group, request, body)
        if error != ErrorCode.NONE:
            request.answer(JoinGroupResponse(error, member=body.member))

    def _accepts(self, group: Group, name: str) -> bool:
        """Whether a group has room by group.max.size.

        A static member that comes back has no id either, and does not count yet.
        """
        most, size = self._context.settings.group_max_size, len(group.members)
        known = group.members.get(name)
        waits = known is not None and known.joining is not None
        if not self._context.gates.full_groups_count_joining_members:
            return (known is None or waits or size <= most) if name else size < most
        if group.state == State.PREPARING:
            return waits or sum(one.joining is not None for one in group.members.values()) < most
        return group.state == State.EMPTY or known is not None or size < most

    def _reject(self, group: Group, body: JoinGroupRequest) -> None:
        """Reject a join; a group loaded with too many members sheds the late ones."""
        member = group.members.get(body.member)
        if member is not None:
            self._context.out.cancel_timer((SESSION, group.name, member.member))
            group.remove(member)
            self._rebalance.complete_if_all_have_joined(group)
        elif body.instance is not None and self._context.gates.full_groups_forget_instances:
            group.instances.pop(body.instance, None)

    def _has_room(self) -> bool:
        """Whether there is room for one more group; an empty one makes room."""
        if len(self.groups) < GROUPS_MAX:
            return True
        idle = next((one for one in self.groups.values() if one.state == State.EMPTY and not one.pending), None)
        return idle is not None and self.groups.pop(idle.name) is idle

    def refuses(self, instance: str | None) -> bool:
        """Whether static members are refused.

        An older coordinator would drop the instance, and the member would be another.
        """
        return instance is not None and self._context.gates.refuses_static_members

    def _refused(self, body: JoinGroupRequest) -> ErrorCode:
        if self.refuses(body.instance):
            return ErrorCode.UNSUPPORTED_VERSION
        if not body.group:
            return ErrorCode.INVALID_GROUP_ID
        settings = self._context.settings
        least, most = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
        error = self._coordinated(body.group)
        if error == ErrorCode.NONE and not least <= body.session_timeout_ms <= most:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return error

    def _new(self, group: Group, request: Request, body: JoinGroupRequest) -> ErrorCode:
        if not group.supports(body):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        gates = self._context.gates
        static = body.instance is not None and gates.static_members
        if static and body.instance in group.instances:
            self._returned(group, group.members[group.instances[body.instance]], request, body)
            return ErrorCode.NONE
        if len(group.members) + len(group.pending) >= MEMBERS_MAX:
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        self.groups[group.name] = group
        name = self._named(body)
        if gates.new_members_are_named_first and request.version >= FIRST_WITH_MEMBER_ID and not static:
            group.pending.add(name)
            due = partial(self._pending_gone, group, name)
            self._context.set_timer((PENDING, group.name, name), body.session_timeout_ms, due)
            request.answer(JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member=name))
            return ErrorCode.NONE
        self._enter(group, name, request, body)
        return ErrorCode.NONE

    def _named(self, body: JoinGroupRequest) -> str:
        """New member id; Kafka uses a UUID."""
        chance = self._context.chance
        parts = "-".join(f"{chance.below(1 << 32):08x}" for _ in range(4))
        return f"{(body.instance or body.client)[:200]}-{parts}"

    def _known(self, group: Group, request: Request, body: JoinGroupRequest) -> ErrorCode:
        if body.member in group.pending:
            if not group.supports(body):
                return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            self._no_longer_pending(group, body.member)
            self._enter(group, body.member, request, body)
            return ErrorCode.NONE
        error = self._membership_error(group, body.member, body.instance)
        if error == ErrorCode.NONE and body.instance is not None and body.instance not in group.instances:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error != ErrorCode.NONE:
            return error
        member = group.members[body.member]
        if not group.supports(body):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        changed = member.protocols != body.protocols
        if group.state == State.COMPLETING and not changed:
            self._rebalance.answer_join(group, member, request)  # the first response may have been lost
        elif group.state == State.STABLE and not changed and group.leader != member.member:
            self._rebalance.answer_join(group, member, request)
        else:
            self._rejoin(group, member, request, body)
        return ErrorCode.NONE

    def _enter(self, group: Group, name: str, request: Request, body: JoinGroupRequest) -> None:
        member = Member(name, body)
        member.new = True
        group.add(member, body.protocol_type)
        if group.state == State.PREPARING and group.generation == 0:
            group.newcomer = True
        if self._context.gates.new_members_wait_at_most_five_minutes:
            due = partial(self._silent, group, member)
            self._context.set_timer((SESSION, group.name, name), NEW_MEMBER_JOIN_TIMEOUT_MS, due)
        self._wait_to_join(group, member, request)

    def _rejoin(self, group: Group, member: Member, request: Request, body: JoinGroupRequest) -> None:
        member.protocols = body.protocols
        if not member.new:
            self._context.out.cancel_timer((SESSION, group.name, member.member))
        self._wait_to_join(group, member, request)

    def _wait_to_join(self, group: Group, member: Member, request: Request) -> None:
        """Park a join. A waiting member counts as alive, unless it is new.

        A new one's session begins with the generation.
        """
        if member.joining is not None:  # repeated over another connection
            member.joining.answer(JoinGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS, member=member.member))
        member.joining = request
        if group.state == State.PREPARING:
            self._rebalance.complete_if_all_have_joined(group)
        else:
            self._rebalance.prepare(group)

    def _returned(self, group: Group, member: Member, request: Request, body: JoinGroupRequest) -> None:
        """Handle a static member without its id: it was restarted (KIP-345). The old id is fenced."""
        if member.joining is not None:
            member.joining.answer(JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member=member.member))
            member.joining = None
        if member.syncing is not None:
            member.syncing.answer(SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))
            member.syncing = None
        self._context.out.cancel_timer((SESSION, group.name, member.member))
        leader, former = group.leader, member.member
        group.renamed(member, self._named(body))
        member.protocols = body.protocols
        if not self._keeps_its_place(group):
            self._wait_to_join(group, member, request)
            return
        # It keeps its assignment. The response has the leader's old id, so a leader does not act as one.
        answer = JoinGroupResponse(
            ErrorCode.NONE, group.generation, group.protocol_type, group.protocol, leader, member.member
        )
        if not self._context.gates.static_rejoin_is_stored:
            self._renew_session(group, member)
            request.answer(answer)
            return

        def stored(error: ErrorCode) -> None:
            if self.groups.get(group.name) is not group or group.members.get(answer.member) is not member:
                error = error or ErrorCode.UNKNOWN_MEMBER_ID  # it has left meanwhile, or come back again
            elif error != ErrorCode.NONE:
                group.renamed(member, former)
                self._renew_session(group, member)
            else:
                self._renew_session(group, member)
            failed = error != ErrorCode.NONE
            request.answer(JoinGroupResponse(error, member=answer.member) if failed else answer)

        assigned = {one.member: one.assignment for one in group.members.values()}
        self._rebalance.store_apart(group, assigned, stored)

    def _keeps_its_place(self, group: Group) -> bool:
        """Whether a returned static member needs no rebalance."""
        gates = self._context.gates
        if group.state == State.STABLE:
            return not gates.static_rejoin_is_stored or group.chosen() == group.protocol
        return group.state == State.COMPLETING and not gates.static_rejoin_while_assigning_rebalances

    # --- a rebalance ---

    def sync(self, request: Request, body: SyncGroupRequest) -> Work[None]:
        """Handle SyncGroup; the response follows when the leader's assignment is stored."""
        if self.refuses(body.instance):
            request.answer(SyncGroupResponse(ErrorCode.UNSUPPORTED_VERSION))
            return
        if self._coordinated(body.group) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # The rebalance is lost; older clients know no better error for it.
            request.answer(SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS))
            return
        error, group, member = self._member(body.group, body.member, body.instance, body.generation)
        if group is None or member is None or error != ErrorCode.NONE:
            request.answer(SyncGroupResponse(error))
        elif group.state == State.PREPARING:
            request.answer(SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS))
        elif group.state == State.STABLE:
            self._rebalance.has_synced(group, member)
            self._renew_session(group, member)
            request.answer(SyncGroupResponse(ErrorCode.NONE, group.protocol_type, group.protocol, member.assignment))
        else:
            if member.syncing is not None:
                member.syncing.answer(SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS))
            member.syncing = request
            self._rebalance.has_synced(group, member)
            if member.member == group.leader:
                given = {one.member: one.assignment for one in body.assignments}
                yield from self._rebalance.assign(group, given)

    # --- heartbeats and departures ---

    def heartbeat(self, request: Request, body: HeartbeatRequest) -> None:
        if self.refuses(body.instance):
            request.answer(HeartbeatResponse(ErrorCode.UNSUPPORTED_VERSION))
            return
        if self._coordinated(body.group) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            request.answer(HeartbeatResponse())  # for any member
            return
        error, group, member = self._member(body.group, body.member, body.instance, body.generation)
        if error == ErrorCode.NONE and group is not None and member is not None:
            assigning = group.state == State.COMPLETING and not self._context.gates.heartbeats_while_assigning
            if not assigning:
                self._renew_session(group, member)
            if assigning or group.state == State.PREPARING:
                error = ErrorCode.REBALANCE_IN_PROGRESS
        request.answer(HeartbeatResponse(error))

    def leave(self, request: Request, body: LeaveGroupRequest) -> None:
        error = self._coordinated(body.group) if body.group else ErrorCode.INVALID_GROUP_ID
        if error != ErrorCode.NONE:
            request.answer(LeaveGroupResponse(error))
            return
        group = self.groups.get(body.group)
        left = [LeavingMember(one.member, one.instance, self._leaves(group, one)) for one in body.members]
        request.answer(LeaveGroupResponse(ErrorCode.NONE, left))

    def _leaves(self, group: Group | None, one: LeavingMember) -> ErrorCode:
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if one.member in group.pending:
            self._no_longer_pending(group, one.member)
            self._rebalance.complete_if_all_have_joined(group)
            return ErrorCode.NONE
        name = one.member or group.instances.get(one.instance or "", "")
        error = self._membership_error(group, name, one.instance)
        if error == ErrorCode.NONE:
            self._gone(group, group.members[name])
        return error

    def _renew_session(self, group: Group, member: Member) -> None:
        """Renew a member's session from now."""
        due = partial(self._silent, group, member)
        self._context.set_timer((SESSION, group.name, member.member), member.session_timeout_ms, due)

    def _silent(self, group: Group, member: Member) -> None:
        """Handle a member's session timeout.

        A member with a pending response is not silent. A new member has waited too long: whether it is alive is
        unknown.
        """
        waits = (member.joining is not None and not member.new) or member.syncing is not None
        if group.members.get(member.member) is member and not waits:
            self._gone(group, member)

    def _gone(self, group: Group, member: Member) -> None:
        self._context.out.cancel_timer((SESSION, group.name, member.member))
        if member.joining is not None:
            member.joining.answer(JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID, member=member.member))
        if member.syncing is not None:
            member.syncing.answer(SyncGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove(member)
        self._rebalance.has_synced(group, member)
        if group.state in (State.STABLE, State.COMPLETING):
            self._rebalance.prepare(group)
        else:
            self._rebalance.complete_if_all_have_joined(group)

    def _pending_gone(self, group: Group, name: str) -> None:
        group.pending.discard(name)
        self._rebalance.complete_if_all_have_joined(group)

    def _no_longer_pending(self, group: Group, name: str) -> None:
        group.pending.discard(name)
        self._context.out.cancel_timer((PENDING, group.name, name))

    def _membership_error(self, group: Group, name: str, instance: str | None) -> ErrorCode:
        """Error unless it is a member, and the one of its instance."""
        if instance is not None and group.instances.get(instance, name) != name:
            return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if name in group.members else ErrorCode.UNKNOWN_MEMBER_ID

    def _member(
        self, name: str, member: str, instance: str | None, generation: int
    ) -> tuple[ErrorCode, Group | None, Member | None]:
        error = self._coordinated(name) if name else ErrorCode.INVALID_GROUP_ID
        group = self.groups.get(name)
        if error == ErrorCode.NONE and group is None:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error != ErrorCode.NONE or group is None:
            return error, None, None
        error = self._membership_error(group, member, instance)
        if error == ErrorCode.NONE and generation != group.generation:
            error = ErrorCode.ILLEGAL_GENERATION
        return error, group, group.members.get(member)

    # --- committing ---

    def may_commit(self, body: OffsetCommitRequest) -> ErrorCode:
        """Error of a commit by membership.

        A consumer with assigned partitions commits without a generation, to a group without members.
        """
        group = self.groups.get(body.group)
        if group is None or (body.generation < 0 and group.state == State.EMPTY):
            return ErrorCode.NONE if body.generation < 0 else ErrorCode.ILLEGAL_GENERATION
        error = self._membership_error(group, body.member, body.instance)
        if error == ErrorCode.FENCED_INSTANCE_ID:
            return error
        assigning = group.state == State.COMPLETING
        if assigning and self._context.gates.commits_refused_while_assigning:
            return ErrorCode.REBALANCE_IN_PROGRESS
        if error == ErrorCode.NONE and body.generation != group.generation:
            error = ErrorCode.ILLEGAL_GENERATION
        if error == ErrorCode.NONE and assigning:
            return ErrorCode.REBALANCE_IN_PROGRESS
        if error == ErrorCode.NONE:
            self._renew_session(group, group.members[body.member])
        return error

    def may_commit_in_transaction(self, body: TxnOffsetCommitRequest) -> ErrorCode:
        """Error of a transactional commit by membership (KIP-447).

        Without a generation and member there is none.

        The group's state does not matter: the old generation may commit until the next one begins.

        Source: GroupCoordinator.validateTxnOffsetCommit.
        """
        if body.generation < 0 and not body.member and body.instance is None:
            return ErrorCode.NONE
        group = self.groups.get(body.group)
        if group is None:
            return ErrorCode.NONE if body.generation < 0 else ErrorCode.ILLEGAL_GENERATION
        error = self._membership_error(group, body.member, body.instance)
        if error == ErrorCode.FENCED_INSTANCE_ID:
            return error
        if error and body.member:
            return error
        if body.generation >= 0 and body.generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return ErrorCode.NONE

    # --- election and resignation as coordinator ---

    def loaded(self, groups: Mapping[str, StoredGroup]) -> None:
        """Begin the sessions of the members that the log contains."""
        for name, stored in groups.items():
            if name in self.groups:
                continue
            group = self.groups[name] = Group.stored(name, stored)
            self._rebalance.tell(group)
            for member in group.members.values():
                self._renew_session(group, member)
            if len(group.members) > self._context.settings.group_max_size:
                self._rebalance.prepare(group)

    def resigned(self, coordinated_there: Callable[[str], bool]) -> None:
        """Drop the groups of a lost partition; pending requests get NOT_COORDINATOR."""
        for group in [group for group in self.groups.values() if coordinated_there(group.name)]:
            del self.groups[group.name]
            out = self._context.out
            out.cancel_timer((REBALANCE, group.name))
            self._rebalance.all_have_synced(group)
            for name in sorted(group.pending):
                out.cancel_timer((PENDING, group.name, name))
            for member in group.members.values():
                out.cancel_timer((SESSION, group.name, member.member))
                if member.joining is not None:
                    member.joining.answer(JoinGroupResponse(ErrorCode.NOT_COORDINATOR, member=member.member))
                if member.syncing is not None:
                    member.syncing.answer(SyncGroupResponse(ErrorCode.NOT_COORDINATOR))
            self._rebalance.becomes(group, State.DEAD)
