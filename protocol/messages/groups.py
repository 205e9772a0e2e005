"""Messages about committed offsets: FindCoordinator, OffsetCommit, -Fetch and -Delete.

A group's *coordinator*, the leader of one partition of `__consumer_offsets`, keeps its offsets. It also keeps the
group's members, if any (`membership`).
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from protocol.ids import EPOCH_UNKNOWN, NO_BROKER, NO_OFFSET
from protocol.messages.leadership_messages import PartitionError
from protocol.messages.message_base import (
    RESPONSE,
    BrokerField,
    Epoch32,
    ErrorField,
    Int32,
    Message,
    Name,
    OffsetField,
    PartitionField,
    Text,
    register,
    unit,
)

GROUP_KEY: Final = 0
TRANSACTION_KEY: Final = 1
"""Key types of FindCoordinator."""
CommittedEpoch = Annotated[Epoch32, unit("leader epoch", "of the last record read; -1 unknown (KIP-320)", since=6)]
FetchedEpoch = Annotated[Epoch32, unit("leader epoch", "as committed; -1 unknown (KIP-320)", since=5)]


@register
class FindCoordinatorRequest(Message):
    """Request for the coordinator of a group, or of a transactional id.

    Creates a missing internal topic.
    """

    API_KEY = 10
    API_NAME = "FindCoordinator"
    VERSIONS = (0, 3)
    key: str
    key_type: Annotated[int, Meta(ge=0, le=1), unit("key type", "0: group, 1: transactional id", since=1)] = GROUP_KEY


@register
class FindCoordinatorResponse(Message):
    """The coordinator; `broker` -1 and `node` "" with an error."""

    API_KEY = 10
    API_NAME = "FindCoordinator"
    DIRECTION = RESPONSE
    VERSIONS = (0, 3)
    error: ErrorField = 0
    broker: BrokerField = NO_BROKER
    node: str = ""


class OffsetToCommit(msgspec.Struct, omit_defaults=True):
    """`offset`: the next to read."""

    topic: str
    partition: PartitionField
    offset: OffsetField
    leader_epoch: CommittedEpoch = EPOCH_UNKNOWN
    metadata: Annotated[str, unit("text", "the client's own")] = ""


@register
class OffsetCommitRequest(Message):
    """Commit of offsets; a consumer with its own assignment sends no generation and no member."""

    API_KEY = 8
    API_NAME = "OffsetCommit"
    VERSIONS = (1, 8)
    group: str
    partitions: list[OffsetToCommit]
    generation: Annotated[Int32, unit("generation", "-1: none")] = -1
    member: Text = ""
    instance: Annotated[Name | None, unit("group.instance.id", since=7)] = None


@register
class OffsetCommitResponse(Message):
    API_KEY = 8
    API_NAME = "OffsetCommit"
    DIRECTION = RESPONSE
    VERSIONS = (1, 8)
    partitions: list[PartitionError]


class GroupPartition(msgspec.Struct):
    topic: str
    partition: PartitionField


@register
class OffsetFetchRequest(Message):
    """`everything`: all committed offsets of the group; `partitions` is then empty.

    `stable`: refuse partitions with offsets of open transactions (KIP-447).
    """

    API_KEY = 9
    API_NAME = "OffsetFetch"
    VERSIONS = (1, 7)
    group: str
    partitions: list[GroupPartition]
    everything: Annotated[bool, unit("", since=2)] = False
    stable: Annotated[bool, unit("", since=7)] = False


class CommittedPartition(msgspec.Struct, omit_defaults=True):
    """`offset` -1: none is committed."""

    topic: str
    partition: PartitionField
    offset: OffsetField = NO_OFFSET
    leader_epoch: FetchedEpoch = EPOCH_UNKNOWN
    metadata: str = ""
    error: ErrorField = 0


@register
class OffsetFetchResponse(Message):
    """`error` is the group's; `partitions` is empty with one."""

    API_KEY = 9
    API_NAME = "OffsetFetch"
    DIRECTION = RESPONSE
    VERSIONS = (1, 7)
    error: ErrorField = 0
    partitions: list[CommittedPartition] = []


@register
class OffsetDeleteRequest(Message):
    """Delete committed offsets (KIP-496).

    Topics to which members of the group subscribe keep theirs.
    """

    API_KEY = 47
    API_NAME = "OffsetDelete"
    VERSIONS = (0, 0)
    group: str
    partitions: list[GroupPartition]


@register
class OffsetDeleteResponse(Message):
    """`error`: of the group; `partitions` is empty with one."""

    API_KEY = 47
    API_NAME = "OffsetDelete"
    DIRECTION = RESPONSE
    VERSIONS = (0, 0)
    error: ErrorField = 0
    partitions: list[PartitionError] = []
