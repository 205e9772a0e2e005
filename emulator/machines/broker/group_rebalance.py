"""Rebalance of a group: members join, the leader assigns, the offsets topic stores it.

A generation counts when it is stored: no member receives an assignment before. The state until then is in memory
alone. Under another coordinator a rebalance begins again.
"""

from collections.abc import Callable, Mapping
from functools import partial

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.group_state import Group, Member, State
from emulator.machines.broker.request_channel import Request
from protocol.errors import ErrorCode
from protocol.events import GroupChanged
from protocol.messages.membership import JoinGroupResponse, SyncGroupResponse
from protocol.records.group_metadata import StoredGroup
from protocol.work import Work

SESSION = "group-session"
REBALANCE = "group-rebalance"
SYNC = "group-sync"

Stored = Callable[[ErrorCode], None]
Store = Callable[[str, StoredGroup, Stored], Work[None]]
"""Writes a group to the offsets topic; calls back with the error, or NONE."""


def _ignore_outcome(error: ErrorCode) -> None:
    """Ignore the outcome of storing an empty generation.

    If it is lost, the one before it comes back, and its members' sessions expire.
    """


class Rebalance:
    """Rebalances of groups. `renew_session`: renews a member's session from now."""

    def __init__(self, context: BrokerContext, store: Store, renew_session: Callable[[Group, Member], None]) -> None:
        self._context = context
        self._store = store
        self._renew_session = renew_session

    def prepare(self, group: Group) -> None:
        """Begin a rebalance: all members must join again."""
        for member in group.members.values():
            if group.state == State.COMPLETING:
                member.assignment = b""
            if member.syncing is not None:
                self._renew_session(group, member)  # its session may have ended while it waited
                member.syncing.answer(SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS))
                member.syncing = None
        first = group.state == State.EMPTY
        self.all_have_synced(group)
        self.becomes(group, State.PREPARING)
        delay_ms = self._context.settings.group_initial_rebalance_delay_ms
        if first and delay_ms > 0 and self._context.gates.first_rebalance_waits:
            group.waits_for_more = True
            self._wait_for_more(group, delay_ms, max(0, group.rebalance_timeout_ms - delay_ms))
            return
        due = partial(self._complete, group)
        self._context.set_timer((REBALANCE, group.name), group.rebalance_timeout_ms, due)
        self.complete_if_all_have_joined(group)

    def _wait_for_more(self, group: Group, wait_ms: int, left_ms: int) -> None:
        """Wait for further members, repeatedly, up to the rebalance timeout (InitialDelayedJoin)."""
        group.newcomer = False

        def due() -> None:
            if group.newcomer and left_ms > 0:
                again_ms = min(self._context.settings.group_initial_rebalance_delay_ms, left_ms)
                self._wait_for_more(group, again_ms, left_ms - again_ms)
            else:
                self._complete(group)

        self._context.set_timer((REBALANCE, group.name), wait_ms, due)

    def complete_if_all_have_joined(self, group: Group) -> None:
        if group.state == State.PREPARING and not group.waits_for_more and group.all_have_joined:
            self._context.out.cancel_timer((REBALANCE, group.name))
            self._complete(group)

    def _complete(self, group: Group) -> None:
        """Complete the joins. Dynamic members that have not joined again are removed.

        A static member stays until its session ends.
        """
        for member in [one for one in group.members.values() if one.joining is None and one.instance is None]:
            self._context.out.cancel_timer((SESSION, group.name, member.member))
            group.remove(member)
        joined = [one.member for one in group.members.values() if one.joining is not None]
        if group.members and not joined:
            self._context.set_timer((REBALANCE, group.name), group.rebalance_timeout_ms, partial(self._complete, group))
            return
        if joined and group.leader not in joined:
            group.leader = joined[0]
        group.begins()
        self.becomes(group, group.state)
        if group.state == State.EMPTY:
            self.store_apart(group, {}, _ignore_outcome)
        elif self._context.gates.unsynced_members_are_removed:
            group.unsynced = set(group.members)
            due = partial(self._never_synced, group)
            self._context.set_timer((SYNC, group.name), group.rebalance_timeout_ms, due)
        for member in group.members.values():
            member.new = False
            self._renew_session(group, member)  # a static one, too, that did not join again
            if member.joining is not None:
                request, member.joining = member.joining, None
                self.answer_join(group, member, request)

    def _never_synced(self, group: Group) -> None:
        """Remove members without a SyncGroup within the rebalance timeout (KAFKA-12890)."""
        for member in [group.members[name] for name in sorted(group.unsynced) if name in group.members]:
            self._context.out.cancel_timer((SESSION, group.name, member.member))
            group.remove(member)
        self.prepare(group)

    def has_synced(self, group: Group, member: Member) -> None:
        """Note a member's SyncGroup, or its departure."""
        if group.unsynced:
            group.unsynced.discard(member.member)
            if not group.unsynced:
                self.all_have_synced(group)

    def all_have_synced(self, group: Group) -> None:
        """Note that no member's SyncGroup is missing, or that none matters any more."""
        group.unsynced = set()
        self._context.out.cancel_timer((SYNC, group.name))

    def answer_join(self, group: Group, member: Member, request: Request) -> None:
        members = group.members_for(member) if group.state == State.COMPLETING else []
        request.answer(
            JoinGroupResponse(
                ErrorCode.NONE, group.generation, group.protocol_type, group.protocol, group.leader, member.member,
                members,
            )
        )  # fmt: skip

    def _assigned(self, group: Group, generation: int, given: Mapping[str, bytes], error: ErrorCode) -> None:
        """Handle the stored assignment, or its failure.

        After a join meanwhile no member waits for it.
        """
        if group.state != State.COMPLETING or group.generation != generation:
            return
        failed = error != ErrorCode.NONE
        for one in group.members.values():
            one.assignment = b"" if failed else given.get(one.member, b"")
        if not failed:
            self.becomes(group, State.STABLE)
        for one in group.members.values():
            if one.syncing is not None:
                waiting, one.syncing = one.syncing, None
                self._renew_session(group, one)
                assigned = SyncGroupResponse(ErrorCode.NONE, group.protocol_type, group.protocol, one.assignment)
                waiting.answer(SyncGroupResponse(error) if failed else assigned)
        if failed:
            self.prepare(group)

    def assign(self, group: Group, given: Mapping[str, bytes]) -> Work[None]:
        """Store the leader's assignment; pending SyncGroups get their response afterwards."""
        stored = partial(self._assigned, group, group.generation, given)
        yield from self._store(group.name, group.to_store(given), stored)

    def store_apart(self, group: Group, assigned: Mapping[str, bytes], stored: Stored) -> None:
        """Store a group in a thread of its own."""
        work = self._store(group.name, group.to_store(assigned), stored)
        self._context.threads.start("group-coordinator", "store", work)

    def becomes(self, group: Group, state: State) -> None:
        group.state = state
        group.since_ms = int(self._context.now.wall_ms)
        self.tell(group)

    def tell(self, group: Group) -> None:
        members = ",".join(group.members)[:1000]
        self._context.emit(GroupChanged(group.name, group.state.value, group.generation, group.protocol, members))
