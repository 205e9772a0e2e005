"""More partitions of a topic: how many, and where (semantics 4.4)."""

import pytest

from controller.growth import RefusedGrowth, more_partitions
from protocol.errors import ErrorCode as E
from protocol.ids import BrokerId
from protocol.znodes import ReplicaAssignment
from tests.ids import brokers

RACKS = {BrokerId(broker): f"az-{broker}" for broker in range(3)}
THERE = {0: ReplicaAssignment(brokers(1, 2)), 1: ReplicaAssignment(brokers(2, 0))}


def test_placed_from_the_first_partitions_preferred_leader_on_with_as_many_replicas() -> None:
    """By hand, as AdminUtils.assignReplicasToBrokers.
    With fixedStartIndex 1 and startPartitionId 2 the leaders are (2 + 1) % 3 and so on. The second replica is 1 + 1 *
    3 % 2 = 2 further, from partition 3 on 1 + 2 * 3 % 2 = 1.
    """
    assert more_partitions("t", THERE, 5, None, RACKS) == {2: [0, 2], 3: [1, 2], 4: [2, 0]}


def test_as_proposed_the_new_ones_alone() -> None:
    assert more_partitions("t", THERE, 4, [brokers(0, 1), brokers(1, 0)], RACKS) == {2: [0, 1], 3: [1, 0]}


@pytest.mark.parametrize(
    ("wanted", "proposed", "error", "why"),
    [
        (1, None, E.INVALID_PARTITIONS, "currently has 2 partitions, which is higher than the requested 1"),
        (2, None, E.INVALID_PARTITIONS, "already has 2 partitions"),
        (-1, None, E.INVALID_PARTITIONS, "higher than the requested -1"),
        (3, [(0, 7)], E.INVALID_REPLICA_ASSIGNMENT, "Unknown broker"),
        (4, [(0, 1)], E.INVALID_REPLICA_ASSIGNMENT, "by 2 but 1 assignments"),
        (3, [()], E.INVALID_REPLICA_ASSIGNMENT, "replication factor of 0"),
        (3, [(0, 0)], E.INVALID_REPLICA_ASSIGNMENT, "Duplicate brokers"),
        (3, [(0,)], E.INVALID_REPLICA_ASSIGNMENT, "Inconsistent replication factor"),
    ],
)
def test_refused(wanted: int, proposed: list[tuple[int, ...]] | None, error: E, why: str) -> None:
    given = None if proposed is None else [brokers(*one) for one in proposed]
    with pytest.raises(RefusedGrowth, match=why) as refused:
        more_partitions("t", THERE, wanted, given, RACKS)
    assert refused.value.error == error


def test_too_few_brokers_and_no_topic() -> None:
    with pytest.raises(RefusedGrowth) as refused:
        more_partitions("t", THERE, 3, None, {BrokerId(0): "az-0"})
    assert refused.value.error == E.INVALID_REPLICATION_FACTOR
    with pytest.raises(RefusedGrowth) as refused:
        more_partitions("t", {}, 3, None, RACKS)
    assert refused.value.error == E.UNKNOWN_TOPIC_OR_PARTITION
