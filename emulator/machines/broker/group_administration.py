"""Administration of groups: list, describe, delete (part of Kafka's GroupCoordinator).

A group that has committed offsets and never had members exists, too: it is empty, without a type of protocol.
"""

from collections.abc import Callable, Iterable

from emulator.machines.broker.group_state import Group, Member, State
from protocol.errors import ErrorCode
from protocol.gates import Gates
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


def _member(group: Group, one: Member) -> DescribedMember:
    """Describe a member; before all have joined without subscription and assignment.

    Source: summaryNoMetadata.
    """
    if group.state != State.STABLE:
        return DescribedMember(one.member, one.client, instance=one.instance)
    return DescribedMember(one.member, one.client, one.metadata_for(group.protocol), one.assignment, one.instance)


class GroupAdministration:
    """Administration of groups.

    `groups`: by name, those with members, or that had some. `coordinated`: error if this broker does not coordinate
    a group. `committed`: names of groups with committed offsets here. `loading`: whether a partition is loading.
    """

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

    def describe(self, body: DescribeGroupsRequest) -> DescribeGroupsResponse:
        return DescribeGroupsResponse([self._described(name) for name in body.groups])

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
        """Delete a group without members: (error, its generation).

        The caller deletes its committed offsets and its records.
        """
        group = self._groups.get(name)
        if group is None:
            return self._without_members(name), 0
        if group.state != State.EMPTY or group.pending:
            return ErrorCode.NON_EMPTY_GROUP, group.generation
        del self._groups[name]
        return ErrorCode.NONE, group.generation

    def forget(self, idle: Callable[[str], bool]) -> list[str]:
        """Drop `idle` groups without members; returns those with a stored generation."""
        gone = [one for one in self._groups.values() if one.state == State.EMPTY and not one.pending and idle(one.name)]
        for group in gone:
            del self._groups[group.name]
        return [group.name for group in gone if group.generation > 0]

    def may_forget(self, name: str, topics: set[str]) -> tuple[ErrorCode, set[str]]:
        """(error of the group; topics whose committed offsets must stay, because members read them)."""
        group = self._groups.get(name)
        if group is None:
            return self._without_members(name), set()
        if group.state == State.EMPTY:
            return ErrorCode.NONE, set()
        if group.protocol_type != PROTOCOL_TYPE:
            return ErrorCode.NON_EMPTY_GROUP, set()
        return ErrorCode.NONE, {topic for topic in topics if group.subscribes(topic)}

    def _without_members(self, name: str) -> ErrorCode:
        """Error of a group that never had members; with committed offsets it exists."""
        return ErrorCode.NONE if name in self._committed() else ErrorCode.GROUP_ID_NOT_FOUND

    def list(self, body: ListGroupsRequest) -> ListGroupsResponse:
        """List the known groups; COORDINATOR_LOAD_IN_PROGRESS while a partition is loading."""
        known = {group.name: (group.protocol_type, group.state) for group in self._groups.values()}
        without_members = sorted(set(self._committed()) - known.keys())
        known |= dict.fromkeys(without_members, ("", State.EMPTY))
        found = [
            ListedGroup(name, protocol_type, self._name(state))
            for name, (protocol_type, state) in known.items()
            if not body.states or state in body.states
        ]
        return ListGroupsResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self._loading() else ErrorCode.NONE, found)
