"""Subscriptions and assignments of a group's members, byte for byte as Kafka's.

    subscription          version i16, topics: count i32, strings; user data bytes?,
                          1: owned: count i32, each a topic's partitions
    assignment            version i16, count i32, each a topic's partitions; user data bytes?
    a topic's partitions  topic string, count i32, partition i32 each

(`1:` from version 1 on, `?` may be null.) A reader decodes the known fields of a newer version; new fields follow them.

Source: org.apache.kafka.clients.consumer.internals.ConsumerProtocol; KIP-429 (1).
"""

import struct
from collections.abc import Iterable
from typing import Final

import msgspec

from protocol.ids import TopicPartition
from protocol.records.schema_fields import Fields, UnreadableRecord, string

PROTOCOL_TYPE: Final = "consumer"
VERSIONS: Final = range(2)
TOPICS_MAX: Final = 10_000
PARTITIONS_MAX: Final = 100_000
"""Maximum of one decoded subscription or assignment."""

_NULL_BYTES: Final = struct.pack(">i", -1)


class Subscription(msgspec.Struct, frozen=True):
    """`owned`: the member's partitions as it joins (cooperative strategies); since version 1."""

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()


def encode_subscription(subscription: Subscription, version: int) -> bytes:
    """A subscription's bytes. Raises ValueError for a topic's name above the limit of a string."""
    assert version in VERSIONS, f"subscription version {version}"
    parts = [struct.pack(">hi", version, len(subscription.topics)), *map(string, subscription.topics), _NULL_BYTES]
    if version >= 1:
        parts.append(_encoded(subscription.owned))
    return b"".join(parts)


def decode_topics(data: bytes) -> tuple[str, ...]:
    """Topics of a subscription of any version; later fields are not decoded.

    Raises UnreadableRecord.
    """
    fields = Fields(data, "a subscription")
    _version(fields, "a subscription")
    return _topics(fields)


def decode_subscription(data: bytes) -> Subscription:
    """A subscription from its bytes. Raises UnreadableRecord."""
    fields = Fields(data, "a subscription")
    version = _version(fields, "a subscription")
    topics = _topics(fields)
    fields.nullable_bytes()
    return Subscription(topics, _decoded(fields, "a subscription") if version >= 1 else ())


def encode_assignment(partitions: Iterable[TopicPartition], version: int) -> bytes:
    """An assignment's bytes. Raises ValueError as `encode_subscription`."""
    assert version in VERSIONS, f"assignment version {version}"
    return struct.pack(">h", version) + _encoded(partitions) + _NULL_BYTES


def decode_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """An assignment from its bytes. Raises UnreadableRecord."""
    fields = Fields(data, "an assignment")
    _version(fields, "an assignment")
    partitions = _decoded(fields, "an assignment")
    fields.nullable_bytes()
    return partitions


def _version(fields: Fields, what: str) -> int:
    version = fields.number(">h")
    if version < 0:
        raise UnreadableRecord(f"{what}: version {version}")
    return version


def _topics(fields: Fields) -> tuple[str, ...]:
    count = fields.number(">i")
    if not 0 <= count <= TOPICS_MAX:
        raise UnreadableRecord(f"a subscription: {count} topics; at most {TOPICS_MAX}")
    return tuple(fields.string() for _ in range(count))


def _encoded(partitions: Iterable[TopicPartition]) -> bytes:
    of_topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        of_topics.setdefault(topic, []).append(partition)
    parts = [struct.pack(">i", len(of_topics))]
    for topic, numbers in of_topics.items():
        parts += [string(topic), struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
    return b"".join(parts)


def _decoded(fields: Fields, what: str) -> tuple[TopicPartition, ...]:
    found: list[TopicPartition] = []
    topics = fields.number(">i")
    if not 0 <= topics <= TOPICS_MAX:
        raise UnreadableRecord(f"{what}: {topics} topics; at most {TOPICS_MAX}")
    for _ in range(topics):
        topic, count = fields.string(), fields.number(">i")
        if not 0 <= count <= PARTITIONS_MAX - len(found):
            raise UnreadableRecord(f"{what}: {count} partitions of {topic}; at most {PARTITIONS_MAX} in all")
        found += [(topic, fields.number(">i")) for _ in range(count)]
    return tuple(found)
