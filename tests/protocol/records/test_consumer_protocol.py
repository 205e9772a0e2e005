"""Metadata of group members, against kafka-python's independent implementation."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from protocol.ids import TopicPartition
from protocol.records.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    decode_topics,
    encode_assignment,
    encode_subscription,
)
from protocol.records.schema_fields import UnreadableRecord

TOPICS = st.lists(st.text("abc.-_", min_size=1, max_size=8), unique=True, max_size=4)
PARTITIONS = st.lists(st.tuples(st.sampled_from(["t", "u"]), st.integers(0, 9)), unique=True, max_size=8)


def in_topics(partitions: list[TopicPartition]) -> tuple[TopicPartition, ...]:
    """Topics in the order in which they come, their partitions together."""
    topics = list(dict.fromkeys(topic for topic, _ in partitions))
    return tuple(sorted(partitions, key=lambda one: topics.index(one[0])))


@given(TOPICS, PARTITIONS, st.sampled_from([0, 1]))
def test_a_subscription_is_read_back_and_by_another(
    topics: list[str], owned: list[TopicPartition], version: int
) -> None:
    output = Subscription(tuple(topics), in_topics(owned))
    data = encode_subscription(output, version)
    assert decode_subscription(data) == (output if version else Subscription(output.topics))
    assert decode_topics(data) == output.topics
    theirs = ConsumerProtocolSubscription.decode(data)
    assert list(theirs.topics) == topics
    if version:
        assert [(of.topic, n) for of in theirs.owned_partitions for n in of.partitions] == list(output.owned)


@given(PARTITIONS, st.sampled_from([0, 1]))
def test_an_assignment_is_read_back_and_by_another(partitions: list[TopicPartition], version: int) -> None:
    data = encode_assignment(partitions, version)
    assert decode_assignment(data) == in_topics(partitions)
    theirs = ConsumerProtocolAssignment.decode(data)
    assert [(of.topic, n) for of in theirs.assigned_partitions for n in of.partitions] == list(in_topics(partitions))


def test_of_a_newer_version_what_is_known_is_read() -> None:
    later = struct.pack(">h", 3) + encode_subscription(Subscription(("t",), (("t", 1),)), 1)[2:] + b"generation, rack"
    assert decode_subscription(later) == Subscription(("t",), (("t", 1),))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "a subscription: 0 bytes end inside the field at 0"),
        (struct.pack(">hi", 0, 1), "a subscription: 6 bytes end inside the field at 6"),
        (struct.pack(">hi", 0, -1), "a subscription: -1 topics; at most 10000"),
        (struct.pack(">hi", 0, 2**30), "a subscription: 1073741824 topics; at most 10000"),
        (struct.pack(">hi", -2, 0), "a subscription: version -2"),
        (struct.pack(">hiiihci", 1, 0, -1, 1, 1, b"t", 2**30), "a subscription: 1073741824 partitions of t; at most"),
    ],
)
def test_what_is_no_subscription_is_refused_before_anything_is_made_of_it(data: bytes, problem: str) -> None:
    with pytest.raises(UnreadableRecord, match=problem):
        decode_subscription(data)
