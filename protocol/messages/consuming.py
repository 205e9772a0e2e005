"""The player's requests about groups to a client process: consume, commit, read committed.

As in `workload_messages`: every request has a response; `problem` is the reason for a refusal. `old`: use the old
consumer, with offsets in the session service (up to 1.1). `settings` have Kafka's names.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET
from protocol.messages.groups import GroupPartition
from protocol.messages.message_base import (
    RESPONSE,
    EpochField,
    Message,
    Millis,
    Offset64,
    OffsetField,
    PartitionField,
    register,
    unit,
)
from protocol.messages.workload_messages import ErrorOrName, Problem, RecordReport, SettingValue

Group = Annotated[str, Meta(min_length=1, max_length=255)]


@register
class ClientConsumeRequest(Message):
    """Consume partitions from the group's offsets, then leave.

    The consumer stops when all partitions are at their end and `at_least_ms` have passed, or after `at_most_ms`. It
    commits at the end if `enable.auto.commit` is set.
    """

    API_KEY = 1406
    API_NAME = "ClientConsume"
    group: Group
    partitions: list[GroupPartition]
    old: bool = False
    settings: dict[str, SettingValue] = {}
    at_least_ms: Millis = 0
    at_most_ms: Millis = 30_000


class ReadingReport(msgspec.Struct, omit_defaults=True):
    """Result of one partition.

    `committed`: the group's offset at the start, null none; `resets`: exceptions that changed the position, in order
    (OffsetOutOfRangeException, LogTruncationException); `position`: the next offset to read, -1 none; `error`: the one
    that ended reading.
    """

    topic: str
    partition: PartitionField
    position: OffsetField
    committed: Offset64 | None = None
    resets: list[str] = []
    records: list[RecordReport] = []
    error: Annotated[str, unit("text", "empty: none")] = ""


@register
class ClientConsumeResponse(Message):
    """`commit`: error of the last commit; 0 also without one."""

    API_KEY = 1406
    API_NAME = "ClientConsume"
    DIRECTION = RESPONSE
    partitions: list[ReadingReport] = []
    commit: ErrorOrName = 0
    problem: Problem = ""


@register
class ClientCommitRequest(Message):
    """Commit one offset for the group; retry retriable errors for `timeout_ms`."""

    API_KEY = 1407
    API_NAME = "ClientCommit"
    group: Group
    topic: str
    partition: PartitionField
    offset: OffsetField
    leader_epoch: EpochField = EPOCH_UNKNOWN
    old: bool = False
    settings: dict[str, SettingValue] = {}
    timeout_ms: Millis = 60_000


@register
class ClientCommitResponse(Message):
    API_KEY = 1407
    API_NAME = "ClientCommit"
    DIRECTION = RESPONSE
    error: ErrorOrName = 0
    problem: Problem = ""


@register
class ClientCommittedRequest(Message):
    """Read the group's committed offset, for `timeout_ms` at most."""

    API_KEY = 1408
    API_NAME = "ClientCommitted"
    group: Group
    topic: str
    partition: PartitionField
    old: bool = False
    settings: dict[str, SettingValue] = {}
    timeout_ms: Millis = 60_000


@register
class ClientCommittedResponse(Message):
    """`offset` -1: none is committed (or, with an error, unknown)."""

    API_KEY = 1408
    API_NAME = "ClientCommitted"
    DIRECTION = RESPONSE
    error: ErrorOrName = 0
    offset: OffsetField = NO_OFFSET
    leader_epoch: EpochField = EPOCH_UNKNOWN
    problem: Problem = ""
