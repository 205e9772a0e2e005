"""Groups as an administrator sees them: listed, described, deleted. Kafka's GroupCoordinator, the part that looks.

Who has committed offsets and never had members is a group as well, an empty one without a type of protocol.
"""

from collections.abc import Callable, Iterable

from emulator.machines.broker.group_state import Group, Member, State
from protocol.errors import ErrorCode
from protocol.messages.membership import (
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from protocol.records.consumer_protocol import PROTOCOL_TYPE
from protocol.versions import Gates


def _member(group: Group, one: Member) -> DescribedMember:
    """What it joined with and what it is to read are of no use before all members have that (summaryNoMetadata)."""
    if group.state != State.STABLE:
        return DescribedMember(one.member, one.client, instance=one.instance)
    return DescribedMember(one.member, one.client, one.metadata_for(group.protocol), one.assignment, one.instance)


class GroupAdministration:
    """`groups`: by name, those with members, or that had some. `coordinated`: whether this broker coordinates a group,
    as an error. `committed`: names of those that have committed something here. `loading`: whether something is."""

    def __init__(
        self,
        groups: dict[str, Group],
        coordinated: Callable[[str], ErrorCode],
        committed: Callable[[], Iterable[str]],
        loading: Callable[[], bool],
        gates: Gates,
    ) -> None:
        self._groups = groups
        self._coordinated = coordinated
        self._committed = committed
        self._loading = loading
        self._gates = gates

    def describe(self, asked: DescribeGroupsRequest) -> DescribeGroupsResponse:
        return DescribeGroupsResponse([self._described(name) for name in asked.groups])

    def _described(self, name: str) -> DescribedGroup:
        error = self._coordinated(name)
        if error != ErrorCode.NONE:
            return DescribedGroup(name, error)
        group = self._groups.get(name)
        if group is None:
            state = State.EMPTY if name in self._committed() else State.DEAD
            return DescribedGroup(name, ErrorCode.NONE, state.value)
        members = [_member(group, one) for one in group.members.values()]
        protocol = group.protocol if group.state == State.STABLE else ""
        return DescribedGroup(name, ErrorCode.NONE, self._name(group.state), group.protocol_type, protocol, members)

    def _name(self, state: State) -> str:
        awaiting = state == State.COMPLETING and not self._gates.completing_rebalance_name
        return "AwaitingSync" if awaiting else state.value

    def delete(self, name: str) -> tuple[ErrorCode, int]:
        """A group without members is forgotten: (error, its generation). What it has committed, and what the log says
        of it, is the caller's."""
        group = self._groups.get(name)
        if group is None:
            return self._without_members(name), 0
        if group.state != State.EMPTY or group.pending:
            return ErrorCode.NON_EMPTY_GROUP, group.generation
        del self._groups[name]
        return ErrorCode.NONE, group.generation

    def forget(self, idle: Callable[[str], bool]) -> list[str]:
        """Those without members that are `idle`; returns whom the log tells of: a generation was stored."""
        gone = [one for one in self._groups.values() if one.state == State.EMPTY and not one.pending and idle(one.name)]
        for group in gone:
            del self._groups[group.name]
        return [group.name for group in gone if group.generation > 0]

    def may_forget(self, name: str, topics: set[str]) -> tuple[ErrorCode, set[str]]:
        """(of the group; those of `topics` whose committed offsets have to stay, because its members read them)."""
        group = self._groups.get(name)
        if group is None:
            return self._without_members(name), set()
        if group.state == State.EMPTY:
            return ErrorCode.NONE, set()
        if group.protocol_type != PROTOCOL_TYPE:
            return ErrorCode.NON_EMPTY_GROUP, set()
        return ErrorCode.NONE, {topic for topic in topics if group.subscribes(topic)}

    def _without_members(self, name: str) -> ErrorCode:
        """Of a group that never had any: one that has committed is there."""
        return ErrorCode.NONE if name in self._committed() else ErrorCode.GROUP_ID_NOT_FOUND

    def list(self, asked: ListGroupsRequest) -> ListGroupsResponse:
        """All that are known here. While a partition of the log is being read, with COORDINATOR_LOAD_IN_PROGRESS."""
        known = {group.name: (group.protocol_type, group.state) for group in self._groups.values()}
        without_members = sorted(set(self._committed()) - known.keys())
        known |= dict.fromkeys(without_members, ("", State.EMPTY))
        found = [
            ListedGroup(name, protocol_type, self._name(state))
            for name, (protocol_type, state) in known.items()
            if not asked.states or state in asked.states
        ]
        return ListGroupsResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self._loading() else ErrorCode.NONE, found)
