"""Messages that replicate and read logs."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from protocol.ids import EPOCH_UNKNOWN, FIRST_OFFSET, NO_BROKER, NO_OFFSET, BrokerId
from protocol.messages.message_base import (
    RESPONSE,
    Broker32,
    BrokerField,
    Bytes,
    Epoch32,
    EpochField,
    ErrorField,
    Int32,
    Int64,
    Message,
    Millis,
    Offset64,
    OffsetField,
    PartitionField,
    Text,
    register,
    unit,
)

LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2
"""Timestamps of ListOffsets with a special meaning."""
NO_TIMESTAMP: Final = -1
Isolation = Annotated[int, Meta(ge=0, le=1)]
CONSUMER_REPLICA_ID: Final = BrokerId(-1)
"""Replica id of consumers in Fetch, ListOffsets and OffsetForLeaderEpoch."""
READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
"""Isolation levels of consumers, in Fetch and ListOffsets (KIP-98)."""
PLAIN_PRODUCE_VERSION: Final = 8
"""Version of Produce that clients without transactions send."""
LEADERS_FETCH_VERSION: Final = 10
"""Version of Fetch of clients that read from leaders alone: the newest without a rack."""
UNKNOWN_REPLICA_ID: Final = BrokerId(-2)
"""Replica id in OffsetForLeaderEpoch before version 3, which has no such field."""


class ProducePartition(msgspec.Struct, omit_defaults=True):
    """Batches for one partition.

    `fault`: error of their validation; the leader responds with it where Kafka's would. Without records the leader
    responds before it checks sizes and checksums.
    """

    topic: str
    partition: PartitionField
    records: bytes
    fault: ErrorField = 0


class ProduceResult(msgspec.Struct, omit_defaults=True):
    """`base_offset` is real for errors 0, 7 and 20, else -1.

    `log_start`: likewise, and for errors after which a producer may continue (semantics 11.2). `topic_id`: of the
    leader's partition, for the client's events alone.
    """

    topic: str
    partition: PartitionField
    error: ErrorField = 0
    base_offset: OffsetField = NO_OFFSET
    log_start: OffsetField = FIRST_OFFSET
    topic_id: str = ""


@register
class ProduceRequest(Message):
    """Append batches.

    `acks`: -1 all in-sync replicas, 1 the leader, 0 none (no response is sent). From version 11 on a client knows
    TRANSACTION_ABORTABLE, from 12 on it adds no partitions to its transactions (KIP-890).
    """

    API_KEY = 0
    API_NAME = "Produce"
    VERSIONS = (0, 12)
    acks: Annotated[int, Meta(ge=-1, le=1)]
    timeout_ms: Millis
    partitions: list[ProducePartition]
    transactional_id: Annotated[Text | None, unit("transactional id", since=3)] = None


@register
class ProduceResponse(Message):
    API_KEY = 0
    API_NAME = "Produce"
    DIRECTION = RESPONSE
    VERSIONS = (0, 12)
    partitions: list[ProduceResult]


class FetchPartition(msgspec.Struct, omit_defaults=True):
    """Position of a fetch in one partition."""

    topic: str
    partition: PartitionField
    fetch_offset: OffsetField
    max_bytes: Bytes = 1_048_576
    log_start: OffsetField = FIRST_OFFSET
    current_leader_epoch: Annotated[Epoch32, unit("leader epoch", "-1: unfenced", since=9)] = EPOCH_UNKNOWN
    last_fetched_epoch: Annotated[Epoch32, unit("leader epoch", "of the last record held", since=12)] = EPOCH_UNKNOWN


@register
class FetchRequest(Message):
    """Read records; `replica_id` -1 is a consumer, 0 or more a follower (semantics 1.9).

    `broker_epoch`: of the follower's registration, in KRaft (KIP-903). `isolation` 1: up to the last stable offset.
    """

    API_KEY = 1
    API_NAME = "Fetch"
    VERSIONS = (0, 12)
    replica_id: BrokerField
    max_wait_ms: Millis
    min_bytes: Bytes
    max_bytes: Bytes
    partitions: list[FetchPartition]
    broker_epoch: Annotated[Int64, unit("offset", "from version 15; -1 unknown")] = -1
    isolation: Annotated[Isolation, unit("isolation level", since=4)] = READ_UNCOMMITTED
    rack: Annotated[Text, unit("rack", "of a consumer; empty: unknown", since=11)] = ""


class DivergingEpoch(msgspec.Struct):
    """The largest epoch that leader and follower share, with its end in the leader's log."""

    epoch: EpochField
    end_offset: OffsetField


class AbortedTransaction(msgspec.Struct):
    """A producer and the first offset of its aborted transaction."""

    producer_id: Int64
    first_offset: OffsetField


class FetchedPartition(msgspec.Struct, omit_defaults=True):
    """Records of one partition. `high_watermark` -1 with an error.

    `incomplete`: up to version 2, the first message exceeds the requested size. Kafka sends its beginning; here there
    are no records. `topic_id`: as in a produce's result. `last_stable_offset` -1: the high watermark. `aborted`:
    transactions whose records a consumer with isolation 1 drops. `preferred_replica`: the follower to read from, in a
    response without records (KIP-392); -1: this broker.
    """

    topic: str
    partition: PartitionField
    error: ErrorField = 0
    high_watermark: OffsetField = NO_OFFSET
    log_start: OffsetField = FIRST_OFFSET
    diverging_epoch: Annotated[DivergingEpoch | None, unit("leader epoch", "truncation on fetch", since=12)] = None
    records: bytes = b""
    incomplete: bool = False
    topic_id: str = ""
    last_stable_offset: Annotated[Offset64, unit("offset", since=4)] = NO_OFFSET
    aborted: Annotated[list[AbortedTransaction], unit("transactions", since=4)] = []
    preferred_replica: Annotated[Broker32, unit("broker id", since=11)] = NO_BROKER


@register
class FetchResponse(Message):
    API_KEY = 1
    API_NAME = "Fetch"
    DIRECTION = RESPONSE
    VERSIONS = (0, 12)
    partitions: list[FetchedPartition]


class ListOffsetsPartition(msgspec.Struct, omit_defaults=True):
    """`timestamp` -1 latest, -2 earliest; else the first record of that time or later."""

    topic: str
    partition: PartitionField
    timestamp: Int64
    current_leader_epoch: Annotated[Epoch32, unit("leader epoch", since=4)] = EPOCH_UNKNOWN
    offsets_max: Annotated[Int32 | None, unit("offsets", "a client's version 0: where segments begin, so many")] = None


class ListedOffset(msgspec.Struct, omit_defaults=True):
    """`offset` -1 without an error: no record is of that time or later.

    `offsets`: the answer to `offsets_max`, the largest first.
    """

    topic: str
    partition: PartitionField
    error: ErrorField = 0
    offset: OffsetField = NO_OFFSET
    leader_epoch: Annotated[Epoch32, unit("leader epoch", since=4)] = EPOCH_UNKNOWN
    timestamp_ms: Annotated[Int64, unit("ms", "of the record; -1: none was asked for by its time")] = NO_TIMESTAMP
    offsets: list[OffsetField] = []


@register
class ListOffsetsRequest(Message):
    API_KEY = 2
    API_NAME = "ListOffsets"
    VERSIONS = (0, 5)
    replica_id: BrokerField
    partitions: list[ListOffsetsPartition]
    isolation: Annotated[Isolation, unit("isolation level", since=2)] = READ_UNCOMMITTED


@register
class ListOffsetsResponse(Message):
    API_KEY = 2
    API_NAME = "ListOffsets"
    DIRECTION = RESPONSE
    VERSIONS = (0, 5)
    partitions: list[ListedOffset]


class EpochRequest(msgspec.Struct, omit_defaults=True):
    """Request for the end of `leader_epoch` in the leader's log."""

    topic: str
    partition: PartitionField
    leader_epoch: EpochField
    current_leader_epoch: Annotated[Epoch32, unit("leader epoch", "-1: unfenced", since=2)] = EPOCH_UNKNOWN


class EpochEnd(msgspec.Struct, omit_defaults=True):
    """(-1, -1) is undefined. Version 0 has only the offset, and `leader_epoch` -1."""

    topic: str
    partition: PartitionField
    error: ErrorField = 0
    leader_epoch: Annotated[Epoch32, unit("leader epoch", since=1)] = EPOCH_UNKNOWN
    end_offset: OffsetField = NO_OFFSET


@register
class OffsetForLeaderEpochRequest(Message):
    """Request for the ends of epochs (KIP-101, KIP-279, KIP-320; semantics 2.1)."""

    API_KEY = 23
    API_NAME = "OffsetForLeaderEpoch"
    VERSIONS = (0, 3)
    partitions: list[EpochRequest]
    replica_id: Annotated[Broker32, unit("broker id", since=3)] = UNKNOWN_REPLICA_ID


@register
class OffsetForLeaderEpochResponse(Message):
    API_KEY = 23
    API_NAME = "OffsetForLeaderEpoch"
    DIRECTION = RESPONSE
    VERSIONS = (0, 3)
    partitions: list[EpochEnd]
