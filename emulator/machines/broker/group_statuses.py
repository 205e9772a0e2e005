"""A coordinator's view of its groups, for a broker's status. Reading changes nothing."""

from itertools import islice

from emulator.machines.broker.group_coordinator import GroupCoordinator
from protocol.ids import topic_partition_text
from protocol.messages.membership import ListGroupsRequest
from protocol.messages.status_messages import GROUP_OFFSETS_MAX, GROUPS_MAX, GroupStatus


def group_statuses(coordinator: GroupCoordinator) -> dict[str, GroupStatus]:
    """The first GROUPS_MAX groups by name."""
    listed = sorted(coordinator.administration.list(ListGroupsRequest()).groups, key=lambda one: one.group)
    return {one.group: _status(coordinator, one.group, one.state) for one in listed[:GROUPS_MAX]}


def _status(coordinator: GroupCoordinator, name: str, state: str) -> GroupStatus:
    group = coordinator.members.groups.get(name)
    committed = islice(coordinator.committed_of(name).items(), GROUP_OFFSETS_MAX)
    return GroupStatus(
        state=state,
        generation=0 if group is None else group.generation,
        members=0 if group is None else len(group.members),
        offsets={topic_partition_text(*place): offset for place, offset in committed},
    )
