"""Committed offsets that a client wants to be forgotten (OffsetDelete, KIP-496)."""

import struct

import pytest

from protocol.errors import ErrorCode as E
from protocol.messages.groups import (
    GroupPartition,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocol.messages.membership import LeavingMember
from tests.emulator.machines.broker.group_bench import OFFSETS, Group
from verification.broker_bench import state

READS_T, READS_U = (struct.pack(">hih", 1, 1, 1) + topic + bytes(4) for topic in (b"t", b"u"))
"""A consumer's subscription: version, topics, user data."""


def deleted(group: Group, *places: tuple[str, int], name: str = "g") -> tuple[int, list[int]]:
    request = OffsetDeleteRequest(name, [GroupPartition(*place) for place in places])
    answer = group.answer(group.ask(request, 0), OffsetDeleteResponse)
    return answer.error, [one.error for one in answer.partitions]


def committed(group: Group) -> list[int]:
    answer = group.answer(group.ask(OffsetFetchRequest("g", [], True), 5), OffsetFetchResponse)
    return [one.offset for one in answer.partitions]


def of_one_member(says: bytes, kind: str = "consumer") -> tuple[Group, str]:
    """It has committed offset 5 of t-0."""
    group = Group("2.4")
    joining = group.join(says=says, kind=kind)
    group.advance(3000)
    member = group.joined(joining).member
    group.sync(member, 1)
    assert group.commit(member, 1) == E.NONE
    return group, member


def test_of_a_group_without_members_what_is_named_is_forgotten() -> None:
    group, member = of_one_member(READS_T)
    group.leave(LeavingMember(member))
    assert committed(group) != []
    assert deleted(group, ("t", 0), ("no", 0)) == (E.NONE, [E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION])
    assert committed(group) == []
    assert deleted(group, ("t", 0)) == (E.NONE, [E.NONE]), "twice"


@pytest.mark.parametrize(
    ("says", "kind", "answer"),
    [
        (READS_T, "consumer", (E.NONE, [E.GROUP_SUBSCRIBED_TO_TOPIC])),
        (READS_U, "consumer", (E.NONE, [E.NONE])),
        (b"", "consumer", (E.NONE, [E.GROUP_SUBSCRIBED_TO_TOPIC])),
        (READS_T[:7], "consumer", (E.NONE, [E.GROUP_SUBSCRIBED_TO_TOPIC])),
        (READS_U, "connect", (E.NON_EMPTY_GROUP, [])),
    ],
    ids=["its topic", "another topic", "says nothing", "cut short", "no consumers"],
)
def test_what_members_read_stays(says: bytes, kind: str, answer: tuple[int, list[int]]) -> None:
    group, _ = of_one_member(says, kind)
    before = committed(group)
    assert deleted(group, ("t", 0)) == answer
    assert committed(group) == ([] if answer[1] == [E.NONE] else before)


def test_no_group_no_name_and_no_coordinator() -> None:
    group = Group("2.4")
    assert deleted(group, ("t", 0), name="none") == (E.GROUP_ID_NOT_FOUND, [])
    assert deleted(group, ("t", 0), name="") == (E.INVALID_GROUP_ID, [])
    group.leader_and_isr(state(1, 1, (0, 1), topic_partition=OFFSETS))
    assert deleted(group, ("t", 0)) == (E.NOT_COORDINATOR, [])
