"""Replica assignment against Kafka's own tests (AdminTest, AdminRackAwareTest)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.assignment import UnassignableTopic, alternate_by_rack, assign_replicas
from protocol.chance import Chance
from protocol.ids import BrokerId
from tests.ids import brokers


def test_ten_partitions_on_five_brokers() -> None:
    """AdminTest.testReplicaAssignment of 0.8 to 2.x: start 0, shift 0."""
    expected = {
        0: [0, 1, 2], 1: [1, 2, 3], 2: [2, 3, 4], 3: [3, 4, 0], 4: [4, 0, 1],
        5: [0, 2, 3], 6: [1, 3, 4], 7: [2, 4, 0], 8: [3, 0, 1], 9: [4, 1, 2],
    }  # fmt: skip
    assert assign_replicas(brokers(0, 1, 2, 3, 4), 10, 3, None, start=0) == expected


def test_racks_take_turns() -> None:
    """AdminRackAwareTest.testGetRackAlternatedBrokerListAndAssignReplicasToBrokers."""
    racks = dict(zip(brokers(0, 1, 2, 3, 4, 5), ["rack1", "rack3", "rack3", "rack2", "rack2", "rack1"], strict=True))
    assert alternate_by_rack(racks) == [0, 3, 1, 5, 4, 2]
    assert alternate_by_rack({broker: rack for broker, rack in racks.items() if broker != 5}) == [0, 3, 1, 4, 2]
    expected = {
        0: [0, 3, 1], 1: [3, 1, 5], 2: [1, 5, 4], 3: [5, 4, 2], 4: [4, 2, 0], 5: [2, 0, 3], 6: [0, 4, 2],
    }  # fmt: skip
    assert assign_replicas(sorted(racks), 7, 3, None, racks, start=0) == expected


def test_a_topic_that_grows_goes_on_where_it_was() -> None:
    whole = assign_replicas(brokers(0, 1, 2, 3), 6, 2, None, start=1)
    later = assign_replicas(brokers(0, 1, 2, 3), 3, 2, None, start=1, first_partition=3)
    assert later == {partition: whole[partition] for partition in (3, 4, 5)}


def test_chance_decides_where_it_starts() -> None:
    firsts = {assign_replicas(brokers(0, 1, 2), 1, 3, Chance(seed))[0][0] for seed in range(50)}
    assert firsts == {0, 1, 2}
    assert assign_replicas(brokers(0, 1, 2), 4, 2, Chance(7)) == assign_replicas(brokers(0, 1, 2), 4, 2, Chance(7))


@pytest.mark.parametrize(
    ("numbers", "partitions", "factor", "racks", "message"),
    [
        ([0, 1], 1, 3, None, "larger than the 2 available brokers"),
        ([0, 1], 0, 1, None, "at least 1"),
        ([0, 1], 1, 0, None, "at least 1"),
        ([0, 1], 1, 1, {BrokerId(0): "a"}, r"brokers \[1\] have no rack"),
    ],
)
def test_an_impossible_assignment_is_refused(
    numbers: list[int], partitions: int, factor: int, racks: dict[BrokerId, str] | None, message: str
) -> None:
    with pytest.raises(UnassignableTopic, match=message):
        assign_replicas(brokers(*numbers), partitions, factor, None, racks)


@given(st.integers(1, 7), st.integers(1, 20), st.integers(1, 4), st.integers(0, 2**32), st.data())
def test_replicas_are_distinct_and_spread(
    count: int, partitions: int, racks: int, seed: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, count))
    rack_of = {broker: f"rack{broker % racks}" for broker in brokers(*range(count))}
    for given_racks in (None, rack_of):
        assignment = assign_replicas(list(rack_of), partitions, factor, Chance(seed), given_racks)
        leaders = [replicas[0] for replicas in assignment.values()]
        counts = [leaders.count(broker) for broker in rack_of]
        assert max(counts) - min(counts) <= 1
        for replicas in assignment.values():
            assert len(set(replicas)) == factor
            if given_racks:
                used = {rack_of[replica] for replica in replicas}
                assert len(used) == min(factor, len(set(rack_of.values())))
