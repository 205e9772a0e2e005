"""The player's requests to the client process of an AZ: commands, and background workloads.

The player is outside every AZ; the client process works inside its AZ and reports the results. Every request has a
response; attempts of a produce are also reported one by one, as they end. `problem` in a response is the reason for a
refusal.
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from protocol.ids import NO_BROKER, NO_OFFSET
from protocol.messages.leadership_messages import MetadataResponse
from protocol.messages.message_base import (
    ONE_WAY,
    RESPONSE,
    BrokerField,
    Bytes,
    Count,
    EpochField,
    Int32,
    Message,
    Millis,
    Name,
    Offset64,
    OffsetField,
    PartitionField,
    Text,
    register,
    unit,
)

RATE_MAX = 100_000.0
"""Maximum records per second of one workload."""

SettingValue = str | int | float | bool
Problem = Annotated[str, unit("text", "empty: none")]
ErrorOrName = Annotated[Int32 | str, unit("error code", "or the name of an exception where no answer came")]
Library = Literal["java", "librdkafka"]
IsolationLevel = Literal["read_uncommitted", "read_committed"]
READ_COMMITTED_LEVEL: Final = "read_committed"
Acks = Annotated[int, Meta(ge=-1, le=1)]

# Limits of one request: beyond these a client process would fill memory and disk with its own events.
RETRIES_MAX: Final = 10_000
RATE_PER_S_MAX: Final = 100_000.0
VALUE_BYTES_MAX: Final = 1024 * 1024
UNFINISHED_MAX: Final = 100_000
RECORDS_PER_TRANSACTION: Final = 10
"""Default of workloads."""


class AttemptReport(msgspec.Struct, omit_defaults=True):
    """One attempt of a produce, or (by a library) a record's end.

    `offset` None: no response. `partition` -1: the requested one, or none chosen yet.
    """

    operation: str
    broker: BrokerField
    value: bytes
    acks: Int32
    attempt: Int32
    error: ErrorOrName
    offset: Offset64 | None = None
    outcome: Annotated[str, unit("text", "by a library: ok, failed or unknown")] = ""
    partition: PartitionField = -1


TransactionEnd = Literal["commit", "abort", "open"]


class TransactionReport(msgspec.Struct, omit_defaults=True):
    """End of one transaction of a produce. `error`: name of Java's exception, "" without one."""

    number: Count
    end: TransactionEnd
    error: Text = ""


@register
class ClientProduceRequest(Message):
    """Write `values` in order. `broker` -1: use a library's producer, which finds the leader.

    Directly: one batch per value, or all in one (`batch`), each with up to `retries` immediate retries. By a library:
    `settings` have Kafka's names; `acks`, `timeout_ms` and the like are then among them. Its partitioner chooses where
    `partition` is -1; `keys` are those of the values, or empty. Values follow each other after `every_ms`, regardless
    of the earlier ones. `client_version`: of the producer; "": the cluster's.

    With the setting `transactional.id` the library writes `records_per_transaction` in each transaction (0: all), in
    turn to `partitions`. It ends them in turn as in `ends` (without any: commit); open leaves the last one open.
    """

    API_KEY = 1400
    API_NAME = "ClientProduce"
    topic: str
    partition: PartitionField
    values: list[bytes]
    keys: list[bytes] = []
    broker: BrokerField = NO_BROKER
    acks: Acks = 1
    timeout_ms: Millis = 1500
    socket_timeout_ms: Millis = 10_000
    retries: Annotated[int, Meta(ge=0, le=RETRIES_MAX)] = 0
    batch: bool = False
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    library: Library = "java"
    settings: dict[str, SettingValue] = {}
    every_ms: Millis = 0
    client_version: Name = ""
    records_per_transaction: Count = 0
    partitions: list[PartitionField] = []
    ends: list[TransactionEnd] = []


@register
class ClientAttempt(Message):
    """An attempt that ended before the response to its request."""

    API_KEY = 1401
    API_NAME = "ClientAttempt"
    DIRECTION = ONE_WAY
    attempt: AttemptReport


@register
class ClientProduceResponse(Message):
    """All attempts (by a library: all records), in the order in which they ended."""

    API_KEY = 1400
    API_NAME = "ClientProduce"
    DIRECTION = RESPONSE
    attempts: list[AttemptReport] = []
    problem: Problem = ""
    transactions: list[TransactionReport] = []


class RecordReport(msgspec.Struct, omit_defaults=True):
    offset: OffsetField
    leader_epoch: EpochField
    value: bytes


@register
class ClientFetchRequest(Message):
    """Read once from `offset` at a named broker. `committed`: at read_committed."""

    API_KEY = 1402
    API_NAME = "ClientFetch"
    broker: BrokerField
    topic: str
    partition: PartitionField
    offset: OffsetField
    socket_timeout_ms: Millis = 5_000
    max_wait_ms: Millis = 500
    max_bytes: Bytes = 1_048_576
    committed: bool = False


@register
class ClientFetchResponse(Message):
    """`high_watermark` and `records` None: no response.

    At read_committed: `next_offset`, after the last batch, delivered or not, and `last_stable_offset`; else -1.
    """

    API_KEY = 1402
    API_NAME = "ClientFetch"
    DIRECTION = RESPONSE
    error: ErrorOrName = 0
    high_watermark: Offset64 | None = None
    records: list[RecordReport] | None = None
    problem: Problem = ""
    next_offset: OffsetField = NO_OFFSET
    last_stable_offset: OffsetField = NO_OFFSET


@register
class ClientMetadataRequest(Message):
    """Request a named broker's metadata; no topics: all."""

    API_KEY = 1403
    API_NAME = "ClientMetadata"
    broker: BrokerField
    topics: list[str] = []
    socket_timeout_ms: Millis = 5_000


@register
class ClientMetadataResponse(Message):
    """`metadata` None: no response."""

    API_KEY = 1403
    API_NAME = "ClientMetadata"
    DIRECTION = RESPONSE
    error: ErrorOrName = 0
    metadata: MetadataResponse | None = None
    problem: Problem = ""


class WorkloadSpec(msgspec.Struct, omit_defaults=True):
    """A background workload.

    produce: `rate_per_s` records, in turn to each of `partitions` (or, with `keys`, so many keys in turn, to the
    partitioner's choice), of at least `value_bytes`, at most `limit` in all. A record that would exceed
    `unfinished_max` is not sent: `skipped` counts those. consume: reads all of `partitions` from `offset` (-1: by the
    settings' reset policy); or, with `group`, the partitions of `topic` assigned to it as a member. `client_version`:
    of the producer; "": the cluster's.

    transform: as a member of `group`, it writes a record to `output` for each one it reads, and commits its offsets in
    the same transaction; `output_settings`: of its producer. With `transactional_id` (the client's name is appended),
    or with the setting, a producer writes `records_per_transaction` in each transaction. It aborts the share
    `abort_ratio` of them. `group_metadata`: offsets carry the group's generation and member.
    """

    name: Name
    kind: Literal["produce", "consume", "transform"]
    topic: Name
    partitions: list[PartitionField]
    library: Library = "java"
    settings: dict[str, SettingValue] = {}
    rate_per_s: Annotated[float, Meta(ge=0.0, le=RATE_PER_S_MAX), unit("1/s")] = 10.0
    value_prefix: Name = ""
    value_bytes: Annotated[int, Meta(ge=0, le=VALUE_BYTES_MAX), unit("bytes")] = 0
    limit: Count = 1_000_000
    unfinished_max: Annotated[int, Meta(ge=0, le=UNFINISHED_MAX)] = 1_000
    offset: OffsetField = NO_OFFSET
    keys: Count = 0
    group: Name = ""
    client_version: Name = ""
    transactional_id: Name = ""
    records_per_transaction: Annotated[int, Meta(ge=1, le=UNFINISHED_MAX)] = RECORDS_PER_TRANSACTION
    abort_ratio: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0
    output: Name = ""
    output_partitions: list[PartitionField] = []
    output_settings: dict[str, SettingValue] = {}
    group_metadata: bool = True


class WorkloadReport(msgspec.Struct, omit_defaults=True):
    """Counts so far; `problems`: errors of reading, the first hundred.

    Of a group's member: `rebalances` that assigned it partitions, maybe none; partitions `lost` before it knew;
    `refused` commits. Of a producer with transactions: those `committed` and `aborted`.
    """

    name: str
    kind: str
    running: bool
    sent: Count = 0
    ok: Count = 0
    failed: Count = 0
    unknown: Count = 0
    skipped: Count = 0
    read: Count = 0
    problems: list[str] = []
    rebalances: Count = 0
    lost: Count = 0
    refused: Count = 0
    committed: Count = 0
    aborted: Count = 0


@register
class StartWorkloadRequest(Message):
    API_KEY = 1404
    API_NAME = "StartWorkload"
    spec: WorkloadSpec


@register
class StartWorkloadResponse(Message):
    API_KEY = 1404
    API_NAME = "StartWorkload"
    DIRECTION = RESPONSE
    problem: Problem = ""


@register
class StopWorkloadRequest(Message):
    """Stop a workload; response when all operations in flight have ended.

    `at_once`: do not wait; operations in flight end as unknown or failed.
    """

    API_KEY = 1405
    API_NAME = "StopWorkload"
    name: str
    at_once: bool = False


@register
class StopWorkloadResponse(Message):
    API_KEY = 1405
    API_NAME = "StopWorkload"
    DIRECTION = RESPONSE
    report: WorkloadReport | None = None
    problem: Problem = ""


@register
class WorkloadReportsRequest(Message):
    """Request for counts of all workloads of this client, including known ended ones."""

    API_KEY = 1409
    API_NAME = "WorkloadReports"


@register
class WorkloadReportsResponse(Message):
    API_KEY = 1409
    API_NAME = "WorkloadReports"
    DIRECTION = RESPONSE
    reports: list[WorkloadReport] = []
