"""Messages of whoever makes, grows and deletes topics: CreateTopics, CreatePartitions, DeleteTopics, which the
controller's broker takes, and deletes records: DeleteRecords, which leaders take.

Our own commands write znodes, as Kafka's tools did at the time; Kafka's clients ask a broker.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from protocol.ids import NO_OFFSET
from protocol.messages.base import (
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
from protocol.messages.configuration import DescribedSetting

TOPICS_MAX = 1_000
PARTITIONS_MAX = 10_000
UP_TO_HIGH_WATERMARK = -1
"""Of DeleteRecords."""
AS_CONFIGURED = -1
"""Of partitions or replicas: as the broker's settings say (version 4 and later)."""


class PlacedPartition(msgspec.Struct):
    partition: PartitionField
    brokers: list[Broker32]


class NewTopic(msgspec.Struct, omit_defaults=True):
    """`assignment`: instead of numbers."""

    topic: str
    partitions: Annotated[Int32, unit("partitions")] = AS_CONFIGURED
    replication_factor: Annotated[Int32, unit("replicas")] = AS_CONFIGURED
    assignment: Annotated[list[PlacedPartition], Meta(max_length=PARTITIONS_MAX)] = []
    configs: dict[str, str | None] = {}


@register
class CreateTopicsRequest(Message):
    """Answered when every partition has a leader here, or the time is over."""

    API_KEY = 19
    API_NAME = "CreateTopics"
    VERSIONS = (0, 7)
    topics: Annotated[list[NewTopic], Meta(max_length=TOPICS_MAX)]
    timeout_ms: Millis
    validate_only: bool = False


class TopicResult(msgspec.Struct, omit_defaults=True):
    """`message`: of an error, for people. `partitions`, `replication_factor`, `settings`: of a new topic."""

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
    """`partitions`: how many there shall be in all. `assignment`: replicas of the new ones alone; None: placed here."""

    topic: str
    partitions: Annotated[Int32, unit("partitions")]
    assignment: Annotated[list[list[Broker32]], Meta(max_length=PARTITIONS_MAX)] | None = None


@register
class CreatePartitionsRequest(Message):
    """Answered when every partition of the topics has a leader here, or the time is over (KIP-195)."""

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
    """Answered when this broker tells of them no more, or the time is over."""

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
    """Records below `offset` go; -1: below the high watermark."""

    topic: str
    partition: PartitionField
    offset: Int64


@register
class DeleteRecordsRequest(Message):
    """Answered when every replica that lives begins there, or the time is over. The leader takes it."""

    API_KEY = 21
    API_NAME = "DeleteRecords"
    VERSIONS = (0, 2)
    partitions: Annotated[list[DeleteRecordsPartition], Meta(max_length=PARTITIONS_MAX)]
    timeout_ms: Millis


class DeletedRecords(msgspec.Struct, omit_defaults=True):
    """`low_watermark`: where the log begins on every replica that lives; -1: not known, or an error."""

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
