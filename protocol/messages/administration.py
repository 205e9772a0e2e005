"""Messages that create, grow and delete topics, and delete records.

The controller's broker handles CreateTopics, CreatePartitions and DeleteTopics; leaders handle DeleteRecords. Our own
commands write znodes, as Kafka's tools did at the time; Kafka's clients send requests to a broker.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from protocol.ids import NO_OFFSET
from protocol.messages.configuration import DescribedSetting
from protocol.messages.message_base import (
    RESPONSE,
    Broker32,
    ErrorField,
    Int32,
    Int64,
    Message,
    Millis,
    OffsetField,
    PartitionField,
    Text,
    register,
    unit,
)

TOPICS_MAX = 1_000
PARTITIONS_MAX = 10_000
UP_TO_HIGH_WATERMARK = -1
"""Offset in DeleteRecords that stands for the high watermark."""
AS_CONFIGURED = -1
"""Number of partitions or replicas from the broker's settings (version 4 and later)."""


class PlacedPartition(msgspec.Struct):
    partition: PartitionField
    brokers: list[Broker32]


class NewTopic(msgspec.Struct, omit_defaults=True):
    """A topic to create. `assignment`: instead of numbers."""

    topic: str
    partitions: Annotated[Int32, unit("partitions")] = AS_CONFIGURED
    replication_factor: Annotated[Int32, unit("replicas")] = AS_CONFIGURED
    assignment: Annotated[list[PlacedPartition], Meta(max_length=PARTITIONS_MAX)] = []
    configs: dict[str, str | None] = {}


@register
class CreateTopicsRequest(Message):
    """Response when every partition has a leader on this broker, or after the time limit."""

    API_KEY = 19
    API_NAME = "CreateTopics"
    VERSIONS = (0, 7)
    topics: Annotated[list[NewTopic], Meta(max_length=TOPICS_MAX)]
    timeout_ms: Millis
    validate_only: bool = False


class TopicResult(msgspec.Struct, omit_defaults=True):
    """Result for a topic. `message`: of an error, for people. Other fields: of a new topic."""

    topic: str
    error: ErrorField = 0
    message: str = ""
    partitions: Int32 = -1
    replication_factor: Int32 = -1
    settings: list[DescribedSetting] = []


@register
class CreateTopicsResponse(Message):
    API_KEY = 19
    API_NAME = "CreateTopics"
    DIRECTION = RESPONSE
    VERSIONS = (0, 7)
    topics: list[TopicResult]


class GrownTopic(msgspec.Struct, omit_defaults=True):
    """A topic to grow.

    `partitions`: the new total. `assignment`: replicas of the new partitions only; None: the broker places them.
    """

    topic: str
    partitions: Annotated[Int32, unit("partitions")]
    assignment: Annotated[list[list[Broker32]], Meta(max_length=PARTITIONS_MAX)] | None = None


@register
class CreatePartitionsRequest(Message):
    """Response when every partition has a leader here, or after the time limit (KIP-195)."""

    API_KEY = 37
    API_NAME = "CreatePartitions"
    VERSIONS = (0, 3)
    topics: Annotated[list[GrownTopic], Meta(max_length=TOPICS_MAX)]
    timeout_ms: Millis
    validate_only: bool = False


@register
class CreatePartitionsResponse(Message):
    API_KEY = 37
    API_NAME = "CreatePartitions"
    DIRECTION = RESPONSE
    VERSIONS = (0, 3)
    topics: list[TopicResult]


@register
class DeleteTopicsRequest(Message):
    """Response when this broker's metadata no longer has the topics, or after the time limit."""

    API_KEY = 20
    API_NAME = "DeleteTopics"
    VERSIONS = (0, 6)
    topics: Annotated[list[Text], Meta(max_length=TOPICS_MAX)]
    timeout_ms: Millis


@register
class DeleteTopicsResponse(Message):
    API_KEY = 20
    API_NAME = "DeleteTopics"
    DIRECTION = RESPONSE
    VERSIONS = (0, 6)
    topics: list[TopicResult]


class DeleteRecordsPartition(msgspec.Struct):
    """Delete a partition's records below `offset`; -1: below the high watermark."""

    topic: str
    partition: PartitionField
    offset: Int64


@register
class DeleteRecordsRequest(Message):
    """Response when every live replica starts at the offset, or after the time limit.

    The leader handles it.
    """

    API_KEY = 21
    API_NAME = "DeleteRecords"
    VERSIONS = (0, 2)
    partitions: Annotated[list[DeleteRecordsPartition], Meta(max_length=PARTITIONS_MAX)]
    timeout_ms: Millis


class DeletedRecords(msgspec.Struct, omit_defaults=True):
    """`low_watermark`: log start on every live replica; -1: unknown, or an error."""

    topic: str
    partition: PartitionField
    error: ErrorField = 0
    low_watermark: OffsetField = NO_OFFSET


@register
class DeleteRecordsResponse(Message):
    API_KEY = 21
    API_NAME = "DeleteRecords"
    DIRECTION = RESPONSE
    VERSIONS = (0, 2)
    partitions: list[DeletedRecords]
