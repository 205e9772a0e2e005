"""Assignment of partitions to readers."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from emulator.machines.client.assignors import (
    Assignment,
    Candidate,
    assign_cooperatively,
    assign_in_turn,
    assign_ranges,
    assignors_named,
)
from protocol.ids import TopicPartition
from protocol.records.consumer_protocol import Subscription

COUNTS = st.dictionaries(st.sampled_from(["t", "u", "v"]), st.integers(1, 7), max_size=3)
SUBSCRIBED = st.lists(st.sampled_from(["t", "u", "v"]), unique=True, min_size=1)


def candidate(
    member: str, *topics: str, owned: tuple[TopicPartition, ...] = (), instance: str | None = None
) -> Candidate:
    return Candidate(member, Subscription(topics, owned), instance)


def theirs(assignor: Any, candidates: list[Candidate], counts: dict[str, int]) -> Assignment:
    """The assignment of kafka-python's leader."""
    cluster = SimpleNamespace(
        partitions_for_topic=lambda topic: set(range(counts[topic])) if counts.get(topic) else None
    )
    members = [
        SimpleNamespace(
            member_id=one.member, group_instance_id=one.instance,
            metadata=SimpleNamespace(topics=list(one.subscription.topics)),
        )
        for one in candidates
    ]  # fmt: skip
    given_ = assignor.assign(cluster, members)
    return {
        member: [(topic, number) for topic, numbers in assignment.assigned_partitions for number in numbers]
        for member, assignment in given_.items()
    }


def ordered(assignment: Assignment) -> dict[str, list[TopicPartition]]:
    return {member: sorted(partitions) for member, partitions in assignment.items() if partitions}


@given(COUNTS, st.dictionaries(st.sampled_from(["m1", "m2", "m3", "m4"]), SUBSCRIBED, min_size=1))
def test_range_and_roundrobin_are_as_another_client_has_them(
    counts: dict[str, int], members: dict[str, list[str]]
) -> None:
    candidates = [candidate(member, *topics) for member, topics in members.items()]
    assert ordered(assign_ranges(candidates, counts)) == ordered(theirs(RangePartitionAssignor, candidates, counts))
    if len({frozenset(topics) for topics in members.values()}) == 1:  # theirs stumbles over members that differ
        given_in_turn = theirs(RoundRobinPartitionAssignor, candidates, counts)
        assert ordered(assign_in_turn(candidates, counts)) == ordered(given_in_turn)


def test_in_turn_a_member_that_does_not_read_a_topic_is_passed_over() -> None:
    members = [candidate("a", "t"), candidate("b", "u"), candidate("c", "t", "u")]
    assert assign_in_turn(members, {"t": 3, "u": 2}) == {
        "a": [("t", 0), ("t", 2)], "b": [("u", 0)], "c": [("t", 1), ("u", 1)],
    }  # fmt: skip


def test_range_gives_the_first_members_one_more_of_each_topic_and_static_ones_come_first() -> None:
    members = [candidate("b", "t", "u"), candidate("a", "t", "u"), candidate("z", "t", "u", instance="i")]
    assert assign_ranges(members, {"t": 4, "u": 1}) == {
        "z": [("t", 0), ("t", 1), ("u", 0)], "a": [("t", 2)], "b": [("t", 3)],
    }  # fmt: skip


@given(st.integers(0, 12), st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True, min_size=1), st.data())
def test_cooperative_members_keep_what_they_can_and_come_to_rest_in_balance(
    count: int, members: list[str], data: st.DataObject
) -> None:
    """Generation after generation, each with its partitions of before.
    No member is ever given what another still has, and from the third on nothing moves.
    """
    everything = [("t", number) for number in range(count)]
    owners = {partition: data.draw(st.sampled_from([*members, "unowned"])) for partition in everything}
    owned: Assignment = {one: [p for p in everything if owners[p] == one] for one in members}
    for generation in range(3):
        assigned = assign_cooperatively([candidate(one, "t", owned=tuple(owned[one])) for one in members], {"t": count})
        for one, partitions in assigned.items():
            for other in members:
                assert other == one or not set(partitions) & set(owned[other])
        if generation == 2:
            assert ordered(assigned) == ordered(owned)
        owned = assigned
    assert sorted(partition for partitions in owned.values() for partition in partitions) == everything
    sizes = [len(partitions) for partitions in owned.values()]
    assert max(sizes) - min(sizes) <= 1


def test_a_partition_claimed_by_two_members_is_kept_by_none() -> None:
    both = (("t", 0), ("t", 1))
    assigned = assign_cooperatively([candidate("a", "t", owned=both), candidate("b", "t", owned=both)], {"t": 2})
    assert assigned == {"a": [("t", 0)], "b": [("t", 1)]}


@pytest.mark.parametrize(
    ("setting", "version", "problem"),
    [
        ("RangeAssigner", "2.8", "unknown strategy 'RangeAssigner'; the nearest known one is RangeAssignor"),
        ("CooperativeStickyAssignor", "2.3", "came with Kafka 2.4; it is not in 2.3"),
        (" , ", "2.8", "a member of a group needs a strategy"),
    ],
)
def test_a_strategy_that_is_not_there_is_named(setting: str, version: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        assignors_named(setting, version)


def test_strategies_are_named_as_in_a_file() -> None:
    named = "org.apache.kafka.clients.consumer.RoundRobinAssignor, RangeAssignor"
    assert [msgspec.structs.asdict(one)["name"] for one in assignors_named(named, "2.8")] == ["roundrobin", "range"]
