"""A coordinator's view of its groups, in its node's status."""

from emulator.machines.broker.group_statuses import group_statuses
from protocol.ids import Offset
from protocol.messages.groups import OffsetCommitRequest, OffsetToCommit
from protocol.messages.status_messages import GROUP_OFFSETS_MAX, GROUPS_MAX, GroupStatus
from tests.emulator.machines.broker.group_bench import IN_SYNC, OFFSETS, Group
from verification.broker_bench import T0, state


def test_members_and_committed_offsets_are_in_it() -> None:
    bench = Group()
    assert group_statuses(bench.broker.coordinator) == {}
    member, _ = bench.stable()
    assert bench.commit(member, 1) == 0
    assert group_statuses(bench.broker.coordinator) == {"g": GroupStatus("Stable", 1, 2, {"t-0": Offset(5)})}


def test_another_coordinators_groups_are_not_in_it() -> None:
    bench = Group()
    bench.stable()
    bench.leader_and_isr(state(1, 1, IN_SYNC, topic_partition=OFFSETS))
    bench.advance(0)
    assert group_statuses(bench.broker.coordinator) == {}


def test_there_is_a_bound_on_groups_and_on_their_offsets() -> None:
    bench = Group()
    places = [(T0[0], number) for number in range(GROUP_OFFSETS_MAX + 5)]
    bench.update_metadata(*(state(0, topic_partition=place) for place in places))
    many = [OffsetToCommit(*place, Offset(1)) for place in places]
    for number in range(GROUPS_MAX + 3):
        bench.ask(OffsetCommitRequest(f"group-{number:02}", many))
    statuses = group_statuses(bench.broker.coordinator)
    assert list(statuses) == [f"group-{number:02}" for number in range(GROUPS_MAX)]
    assert {len(one.offsets) for one in statuses.values()} == {GROUP_OFFSETS_MAX}
    assert {(one.state, one.members) for one in statuses.values()} == {("Empty", 0)}
