"""What the scenario's player asks of the client process in an AZ about groups: consume, commit, look what is
committed.

As in `workload`: every request is answered; `problem` says why nothing was done. `old`: by the old consumer, whose
offsets are in the session service (up to 1.1). `settings` under Kafka's names.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET
from protocol.messages.base import (
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
from protocol.messages.groups import GroupPartition
from protocol.messages.workload import ErrorOrName, Problem, SettingValue, ToldRecord

Group = Annotated[str, Meta(min_length=1, max_length=255)]


@register
class ClientConsumeRequest(Message):
    """Read these partitions from where the group was, until all of them are at their end and `at_least_ms` have
    passed, or `at_most_ms`; then leave, with a last commit if `enable.auto.commit`."""

    API_KEY = 1406
    API_NAME = "ClientConsume"
    group: Group
    partitions: list[GroupPartition]
    old: bool = False
    settings: dict[str, SettingValue] = {}
    at_least_ms: Millis = 0
    at_most_ms: Millis = 30_000


class ToldReading(msgspec.Struct, omit_defaults=True):
    """One partition. `committed`: what the group had when reading began, null nothing; `resets`: why positions were
    left for others, in order (OffsetOutOfRangeException, LogTruncationException); `position`: the next to read, -1
    none was found; `error`: what reading ended with."""

    topic: str
    partition: PartitionField
    position: OffsetField
    committed: Offset64 | None = None
    resets: list[str] = []
    records: list[ToldRecord] = []
    error: Annotated[str, unit("text", "empty: none")] = ""


@register
class ClientConsumeResponse(Message):
    """`commit`: what became of the last commit; 0 also where there was none."""

    API_KEY = 1406
    API_NAME = "ClientConsume"
    DIRECTION = RESPONSE
    partitions: list[ToldReading] = []
    commit: ErrorOrName = 0
    problem: Problem = ""


@register
class ClientCommitRequest(Message):
    """Commit one offset for the group, and try again what may pass for `timeout_ms`."""

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
    """What has the group committed? Asked for `timeout_ms` at most."""

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
    """`offset` -1: nothing is committed (or, with an error, nobody knows)."""

    API_KEY = 1408
    API_NAME = "ClientCommitted"
    DIRECTION = RESPONSE
    error: ErrorOrName = 0
    offset: OffsetField = NO_OFFSET
    leader_epoch: EpochField = EPOCH_UNKNOWN
    problem: Problem = ""
