"""Members of groups: who joins, who is in, who has gone silent. Kafka's GroupCoordinator; a pure state machine.

Who coordinates a group later finds its members in the offsets topic, and goes on with them (`loaded`).
"""

from collections.abc import Callable, Mapping
from functools import partial

from emulator.machines.broker.context import BrokerContext
from emulator.machines.broker.group_rebalance import REBALANCE, SESSION, Rebalance, Store
from emulator.machines.broker.group_state import Group, Member, State
from emulator.machines.broker.requests import Request
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
from protocol.records.group_metadata import StoredGroup
from protocol.work import Work

PENDING = "group-pending"
FIRST_WITH_MEMBER_ID = 4
"""Version of JOIN_GROUP from which on a new member is given its id first (KIP-394)."""
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
GROUPS_MAX = 10_000
MEMBERS_MAX = 1_000
"""Of one group, whatever group.max.size says; pending ones count."""


class GroupMembership:
    """`coordinated`: whether this broker coordinates a group, as an error."""

    def __init__(self, context: BrokerContext, coordinated: Callable[[str], ErrorCode], store: Store) -> None:
        self._context = context
        self._coordinated = coordinated
        self._rebalance = Rebalance(context, store, self._heard_of)
        self.groups: dict[str, Group] = {}
        """By name."""

    # --- joining ---

    def join(self, request: Request, asked: JoinGroupRequest) -> None:
        """Answered when all members have joined, or at once with an error."""
        error = self._refused(asked)
        group = self.groups.get(asked.group)
        if error == ErrorCode.NONE and group is None:
            if asked.member:
                error = ErrorCode.UNKNOWN_MEMBER_ID
            elif not self._has_room():
                error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            else:
                group = Group(asked.group)
        if error == ErrorCode.NONE and group is not None:
            if not self._accepts(group, asked.member):
                self._turned_away(group, asked)
                error = ErrorCode.GROUP_MAX_SIZE_REACHED
            else:
                error = self._known(group, request, asked) if asked.member else self._new(group, request, asked)
        if error != ErrorCode.NONE:
            request.answer(JoinGroupResponse(error, member=asked.member))

    def _accepts(self, group: Group, name: str) -> bool:
        """By group.max.size. A static member that comes back has no name either, and is nobody yet."""
        most, size = self._context.settings.group_max_size, len(group.members)
        known = group.members.get(name)
        waits = known is not None and known.joining is not None
        if not self._context.gates.full_groups_count_who_waits:
            return (known is None or waits or size <= most) if name else size < most
        if group.state == State.PREPARING:
            return waits or sum(one.joining is not None for one in group.members.values()) < most
        return group.state == State.EMPTY or known is not None or size < most

    def _turned_away(self, group: Group, asked: JoinGroupRequest) -> None:
        """A group that was loaded with too many members sheds those that are too late."""
        member = group.members.get(asked.member)
        if member is not None:
            self._context.out.cancel_timer((SESSION, group.name, member.member))
            group.remove(member)
            self._rebalance.complete_if_all_have_joined(group)
        elif asked.instance is not None and self._context.gates.full_groups_forget_instances:
            group.instances.pop(asked.instance, None)

    def _has_room(self) -> bool:
        """For one more group: one that nobody is in makes room."""
        if len(self.groups) < GROUPS_MAX:
            return True
        idle = next((one for one in self.groups.values() if one.state == State.EMPTY and not one.pending), None)
        return idle is not None and self.groups.pop(idle.name) is idle

    def refuses(self, instance: str | None) -> bool:
        """An older coordinator would drop the instance, and the member would be another."""
        return instance is not None and self._context.gates.refuses_static_members

    def _refused(self, asked: JoinGroupRequest) -> ErrorCode:
        if self.refuses(asked.instance):
            return ErrorCode.UNSUPPORTED_VERSION
        if not asked.group:
            return ErrorCode.INVALID_GROUP_ID
        settings = self._context.settings
        least, most = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
        error = self._coordinated(asked.group)
        if error == ErrorCode.NONE and not least <= asked.session_timeout_ms <= most:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return error

    def _new(self, group: Group, request: Request, asked: JoinGroupRequest) -> ErrorCode:
        if not group.supports(asked):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        gates = self._context.gates
        static = asked.instance is not None and gates.static_members
        if static and asked.instance in group.instances:
            self._returned(group, group.members[group.instances[asked.instance]], request, asked)
            return ErrorCode.NONE
        if len(group.members) + len(group.pending) >= MEMBERS_MAX:
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        self.groups[group.name] = group
        name = self._named(asked)
        if gates.new_members_are_named_first and request.version >= FIRST_WITH_MEMBER_ID and not static:
            group.pending.add(name)
            due = partial(self._pending_gone, group, name)
            self._context.set_timer((PENDING, group.name, name), asked.session_timeout_ms, due)
            request.answer(JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member=name))
            return ErrorCode.NONE
        self._enter(group, name, request, asked)
        return ErrorCode.NONE

    def _named(self, asked: JoinGroupRequest) -> str:
        """Kafka takes a UUID."""
        chance = self._context.chance
        parts = "-".join(f"{chance.below(1 << 32):08x}" for _ in range(4))
        return f"{(asked.instance or asked.client)[:200]}-{parts}"

    def _known(self, group: Group, request: Request, asked: JoinGroupRequest) -> ErrorCode:
        if asked.member in group.pending:
            if not group.supports(asked):
                return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            self._no_longer_pending(group, asked.member)
            self._enter(group, asked.member, request, asked)
            return ErrorCode.NONE
        error = self._stranger(group, asked.member, asked.instance)
        if error == ErrorCode.NONE and asked.instance is not None and asked.instance not in group.instances:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error != ErrorCode.NONE:
            return error
        member = group.members[asked.member]
        if not group.supports(asked):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        changed = member.protocols != asked.protocols
        if group.state == State.COMPLETING and not changed:
            self._rebalance.answer_join(group, member, request)  # the first answer may have been lost
        elif group.state == State.STABLE and not changed and group.leader != member.member:
            self._rebalance.answer_join(group, member, request)
        else:
            self._rejoin(group, member, request, asked)
        return ErrorCode.NONE

    def _enter(self, group: Group, name: str, request: Request, asked: JoinGroupRequest) -> None:
        member = Member(name, asked)
        member.new = True
        group.add(member, asked.protocol_type)
        if group.state == State.PREPARING and group.generation == 0:
            group.newcomer = True
        if self._context.gates.new_members_wait_at_most_five_minutes:
            due = partial(self._silent, group, member)
            self._context.set_timer((SESSION, group.name, name), NEW_MEMBER_JOIN_TIMEOUT_MS, due)
        self._wait_to_join(group, member, request)

    def _rejoin(self, group: Group, member: Member, request: Request, asked: JoinGroupRequest) -> None:
        member.protocols = asked.protocols
        if not member.new:
            self._context.out.cancel_timer((SESSION, group.name, member.member))
        self._wait_to_join(group, member, request)

    def _wait_to_join(self, group: Group, member: Member, request: Request) -> None:
        """Whoever waits is alive, unless it is new: its session begins with the generation."""
        if member.joining is not None:  # asked once more, over another connection
            member.joining.answer(JoinGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS, member=member.member))
        member.joining = request
        if group.state == State.PREPARING:
            self._rebalance.complete_if_all_have_joined(group)
        else:
            self._rebalance.prepare(group)

    def _returned(self, group: Group, member: Member, request: Request, asked: JoinGroupRequest) -> None:
        """A static member, without its id: it was started again (KIP-345). Whoever goes by the old one is fenced."""
        if member.joining is not None:
            member.joining.answer(JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member=member.member))
            member.joining = None
        if member.syncing is not None:
            member.syncing.answer(SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))
            member.syncing = None
        self._context.out.cancel_timer((SESSION, group.name, member.member))
        leader, former = group.leader, member.member
        group.renamed(member, self._named(asked))
        member.protocols = asked.protocols
        if not self._keeps_its_place(group):
            self._wait_to_join(group, member, request)
            return
        # It keeps its assignment. Told the leader's old id, the leader does not take itself for it.
        answer = JoinGroupResponse(
            ErrorCode.NONE, group.generation, group.protocol_type, group.protocol, leader, member.member
        )
        if not self._context.gates.static_rejoin_is_stored:
            self._heard_of(group, member)
            request.answer(answer)
            return

        def stored(error: ErrorCode) -> None:
            if self.groups.get(group.name) is not group or group.members.get(answer.member) is not member:
                error = error or ErrorCode.UNKNOWN_MEMBER_ID  # it has gone meanwhile, or come once more
            elif error != ErrorCode.NONE:
                group.renamed(member, former)
                self._heard_of(group, member)
            else:
                self._heard_of(group, member)
            failed = error != ErrorCode.NONE
            request.answer(JoinGroupResponse(error, member=answer.member) if failed else answer)

        assigned = {one.member: one.assignment for one in group.members.values()}
        self._rebalance.store_apart(group, assigned, stored)

    def _keeps_its_place(self, group: Group) -> bool:
        """A static member that came back, without a rebalance."""
        gates = self._context.gates
        if group.state == State.STABLE:
            return not gates.static_rejoin_is_stored or group.chosen() == group.protocol
        return group.state == State.COMPLETING and not gates.static_rejoin_while_assigning_rebalances

    # --- a rebalance ---

    def sync(self, request: Request, asked: SyncGroupRequest) -> Work[None]:
        """Answered when the leader has assigned, and the offsets topic has it."""
        if self.refuses(asked.instance):
            request.answer(SyncGroupResponse(ErrorCode.UNSUPPORTED_VERSION))
            return
        if self._coordinated(asked.group) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # What rebalance there was is lost; older clients know no better word for it.
            request.answer(SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS))
            return
        error, group, member = self._member(asked.group, asked.member, asked.instance, asked.generation)
        if group is None or member is None or error != ErrorCode.NONE:
            request.answer(SyncGroupResponse(error))
        elif group.state == State.PREPARING:
            request.answer(SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS))
        elif group.state == State.STABLE:
            self._rebalance.has_synced(group, member)
            self._heard_of(group, member)
            request.answer(SyncGroupResponse(ErrorCode.NONE, group.protocol_type, group.protocol, member.assignment))
        else:
            if member.syncing is not None:
                member.syncing.answer(SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS))
            member.syncing = request
            self._rebalance.has_synced(group, member)
            if member.member == group.leader:
                given = {one.member: one.assignment for one in asked.assignments}
                yield from self._rebalance.assign(group, given)

    # --- who is there ---

    def heartbeat(self, request: Request, asked: HeartbeatRequest) -> None:
        if self.refuses(asked.instance):
            request.answer(HeartbeatResponse(ErrorCode.UNSUPPORTED_VERSION))
            return
        if self._coordinated(asked.group) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            request.answer(HeartbeatResponse())  # whoever it is
            return
        error, group, member = self._member(asked.group, asked.member, asked.instance, asked.generation)
        if error == ErrorCode.NONE and group is not None and member is not None:
            assigning = group.state == State.COMPLETING and not self._context.gates.heartbeats_while_assigning
            if not assigning:
                self._heard_of(group, member)
            if assigning or group.state == State.PREPARING:
                error = ErrorCode.REBALANCE_IN_PROGRESS
        request.answer(HeartbeatResponse(error))

    def leave(self, request: Request, asked: LeaveGroupRequest) -> None:
        error = self._coordinated(asked.group) if asked.group else ErrorCode.INVALID_GROUP_ID
        if error != ErrorCode.NONE:
            request.answer(LeaveGroupResponse(error))
            return
        group = self.groups.get(asked.group)
        left = [LeavingMember(one.member, one.instance, self._leaves(group, one)) for one in asked.members]
        request.answer(LeaveGroupResponse(ErrorCode.NONE, left))

    def _leaves(self, group: Group | None, one: LeavingMember) -> ErrorCode:
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if one.member in group.pending:
            self._no_longer_pending(group, one.member)
            self._rebalance.complete_if_all_have_joined(group)
            return ErrorCode.NONE
        name = one.member or group.instances.get(one.instance or "", "")
        error = self._stranger(group, name, one.instance)
        if error == ErrorCode.NONE:
            self._gone(group, group.members[name])
        return error

    def _heard_of(self, group: Group, member: Member) -> None:
        """Its session goes on from now."""
        due = partial(self._silent, group, member)
        self._context.set_timer((SESSION, group.name, member.member), member.session_timeout_ms, due)

    def _silent(self, group: Group, member: Member) -> None:
        """session.timeout.ms without a word. Whoever waits for an answer is not silent. A new member has waited too
        long: nobody can tell whether it is still there."""
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

    def _stranger(self, group: Group, name: str, instance: str | None) -> ErrorCode:
        """NONE: it is a member, and the one of its instance."""
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
        error = self._stranger(group, member, instance)
        if error == ErrorCode.NONE and generation != group.generation:
            error = ErrorCode.ILLEGAL_GENERATION
        return error, group, group.members.get(member)

    # --- committing ---

    def may_commit(self, asked: OffsetCommitRequest) -> ErrorCode:
        """Who assigns its partitions itself commits without a generation, to a group that has no members."""
        group = self.groups.get(asked.group)
        if group is None or (asked.generation < 0 and group.state == State.EMPTY):
            return ErrorCode.NONE if asked.generation < 0 else ErrorCode.ILLEGAL_GENERATION
        error = self._stranger(group, asked.member, asked.instance)
        if error == ErrorCode.FENCED_INSTANCE_ID:
            return error
        assigning = group.state == State.COMPLETING
        if assigning and self._context.gates.nobody_commits_while_assigning:
            return ErrorCode.REBALANCE_IN_PROGRESS
        if error == ErrorCode.NONE and asked.generation != group.generation:
            error = ErrorCode.ILLEGAL_GENERATION
        if error == ErrorCode.NONE and assigning:
            return ErrorCode.REBALANCE_IN_PROGRESS
        if error == ErrorCode.NONE:
            self._heard_of(group, group.members[asked.member])
        return error

    # --- becoming the coordinator, and no more ---

    def loaded(self, groups: Mapping[str, StoredGroup]) -> None:
        """The log has told of these: their members' sessions begin now."""
        for name, stored in groups.items():
            if name in self.groups:
                continue
            group = self.groups[name] = Group.stored(name, stored)
            self._rebalance.tell(group)
            for member in group.members.values():
                self._heard_of(group, member)
            if len(group.members) > self._context.settings.group_max_size:
                self._rebalance.prepare(group)

    def resigned(self, coordinated_there: Callable[[str], bool]) -> None:
        """Of these groups: whoever waits is told where it is not, and all is forgotten."""
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
