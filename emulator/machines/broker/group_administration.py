"""Groups as an administrator sees them: listed, described, deleted. Kafka's GroupCoordinator, the part that looks."""

from collections.abc import Callable

from emulator.machines.broker.group_membership import CONSUMER
from emulator.machines.broker.group_state import Group, State
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


class GroupAdministration:
    """`groups`: by name, those with members, or that had some. `coordinated`: whether this broker coordinates a group,
    as an error."""

    def __init__(self, groups: dict[str, Group], coordinated: Callable[[str], ErrorCode]) -> None:
        self._groups = groups
        self._coordinated = coordinated

    def describe(self, asked: DescribeGroupsRequest) -> DescribeGroupsResponse:
        return DescribeGroupsResponse([self._described(name) for name in asked.groups])

    def _described(self, name: str) -> DescribedGroup:
        error = self._coordinated(name)
        if error != ErrorCode.NONE:
            return DescribedGroup(name, error)
        group = self._groups.get(name)
        if group is None:
            return DescribedGroup(name, ErrorCode.NONE, State.DEAD.value)
        stable = group.state == State.STABLE
        members = [
            DescribedMember(
                one.member, one.client, one.metadata_for(group.protocol) if stable else b"", one.assignment,
                one.instance,
            )
            for one in group.members.values()
        ]  # fmt: skip
        protocol = group.protocol if stable else ""
        return DescribedGroup(name, ErrorCode.NONE, group.state.value, group.protocol_type, protocol, members)

    def delete(self, name: str) -> tuple[ErrorCode, int]:
        """A group without members is forgotten: (error, its generation). What it has committed, and what the log says
        of it, is the caller's."""
        group = self._groups.get(name)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND, 0
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
            return ErrorCode.GROUP_ID_NOT_FOUND, set()
        if group.state == State.EMPTY:
            return ErrorCode.NONE, set()
        if group.protocol_type != CONSUMER:
            return ErrorCode.NON_EMPTY_GROUP, set()
        return ErrorCode.NONE, {topic for topic in topics if group.subscribes(topic)}

    def list(self, asked: ListGroupsRequest) -> ListGroupsResponse:
        """Those with members, or that had some in this life of the coordinator."""
        found = [
            ListedGroup(group.name, group.protocol_type, group.state.value)
            for group in self._groups.values()
            if not asked.states or group.state in asked.states
        ]
        return ListGroupsResponse(ErrorCode.NONE, found)
