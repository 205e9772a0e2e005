"""Messages that move and describe leaders, replicas and logs.

ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, AlterReplicaLogDirs; DescribeLogDirs,
DescribeCluster, DescribeProducers. Our own commands write znodes, as Kafka's tools did at the time; Kafka's clients
send requests to the controller's broker.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from protocol.ids import NO_OFFSET
from protocol.messages.leadership_messages import BrokerEndpoint
from protocol.messages.message_base import (
    RESPONSE,
    Broker32,
    BrokerField,
    ErrorField,
    Int64,
    Message,
    Millis,
    OffsetField,
    PartitionField,
    Text,
    register,
    unit,
)

PARTITIONS_MAX = 10_000
REPLICAS_MAX = 1_000
PREFERRED, UNCLEAN = 0, 1
"""Kinds of elections; the second since version 1."""
LogSize = Annotated[int, Meta(ge=0, le=2**62), unit("bytes")]


class PartitionNamed(msgspec.Struct):
    topic: Text
    partition: PartitionField


class PartitionResult(msgspec.Struct, omit_defaults=True):
    """`message`: of an error, for people."""

    topic: Text
    partition: PartitionField
    error: ErrorField = 0
    message: str = ""


@register
class ElectLeadersRequest(Message):
    """Elect leaders. `partitions` None: all.

    Response when this broker's metadata show the elected leaders, or after the time limit.
    """

    API_KEY = 43
    API_NAME = "ElectLeaders"
    VERSIONS = (0, 2)
    partitions: Annotated[list[PartitionNamed], Meta(max_length=PARTITIONS_MAX)] | None
    timeout_ms: Millis
    election: Annotated[int, Meta(ge=PREFERRED, le=UNCLEAN)] = PREFERRED


@register
class ElectLeadersResponse(Message):
    API_KEY = 43
    API_NAME = "ElectLeaders"
    DIRECTION = RESPONSE
    VERSIONS = (0, 2)
    partitions: list[PartitionResult]
    error: ErrorField = 0


class Reassigned(msgspec.Struct):
    """A reassignment. `replicas` None: cancel, back to the original replicas."""

    topic: Text
    partition: PartitionField
    replicas: Annotated[list[Broker32], Meta(max_length=REPLICAS_MAX)] | None


@register
class AlterPartitionReassignmentsRequest(Message):
    """Reassign partitions; response when the moves have begun (KIP-455)."""

    API_KEY = 45
    API_NAME = "AlterPartitionReassignments"
    VERSIONS = (0, 0)
    partitions: Annotated[list[Reassigned], Meta(max_length=PARTITIONS_MAX)]


@register
class AlterPartitionReassignmentsResponse(Message):
    API_KEY = 45
    API_NAME = "AlterPartitionReassignments"
    DIRECTION = RESPONSE
    VERSIONS = (0, 0)
    partitions: list[PartitionResult]
    error: ErrorField = 0


@register
class ListPartitionReassignmentsRequest(Message):
    """`partitions` None: all with a reassignment in progress."""

    API_KEY = 46
    API_NAME = "ListPartitionReassignments"
    VERSIONS = (0, 0)
    partitions: Annotated[list[PartitionNamed], Meta(max_length=PARTITIONS_MAX)] | None


class Moving(msgspec.Struct):
    """`replicas`: all present ones, the target first."""

    topic: Text
    partition: PartitionField
    replicas: list[Broker32]
    adding: list[Broker32]
    removing: list[Broker32]


@register
class ListPartitionReassignmentsResponse(Message):
    API_KEY = 46
    API_NAME = "ListPartitionReassignments"
    DIRECTION = RESPONSE
    VERSIONS = (0, 0)
    partitions: list[Moving]
    error: ErrorField = 0


@register
class DescribeLogDirsRequest(Message):
    """`partitions` None: all of this broker."""

    API_KEY = 35
    API_NAME = "DescribeLogDirs"
    VERSIONS = (0, 2)
    partitions: Annotated[list[PartitionNamed], Meta(max_length=PARTITIONS_MAX)] | None


class DescribedLog(msgspec.Struct):
    """`lag`: distance of the log's end from the high watermark."""

    topic: Text
    partition: PartitionField
    size_bytes: LogSize
    lag: Annotated[Int64, unit("records")]


class DescribedLogDir(msgspec.Struct, omit_defaults=True):
    """A log directory.

    `path`: as Kafka shows it. `topics`: all with a log there, requested or not.
    """

    path: str
    error: ErrorField = 0
    topics: list[Text] = []
    logs: list[DescribedLog] = []


@register
class DescribeLogDirsResponse(Message):
    API_KEY = 35
    API_NAME = "DescribeLogDirs"
    DIRECTION = RESPONSE
    VERSIONS = (0, 2)
    directories: list[DescribedLogDir]


@register
class DescribeClusterRequest(Message):
    """Request for the cluster's brokers (KIP-700)."""

    API_KEY = 60
    API_NAME = "DescribeCluster"
    VERSIONS = (0, 0)


@register
class DescribeClusterResponse(Message):
    API_KEY = 60
    API_NAME = "DescribeCluster"
    DIRECTION = RESPONSE
    VERSIONS = (0, 0)
    controller: BrokerField
    brokers: list[BrokerEndpoint]


class MovedLog(msgspec.Struct):
    """`path`: the replica's target log directory, as in DescribeLogDirs."""

    topic: Text
    partition: PartitionField
    path: str


@register
class AlterReplicaLogDirsRequest(Message):
    """Move replicas of this broker to other log directories (KIP-113)."""

    API_KEY = 34
    API_NAME = "AlterReplicaLogDirs"
    VERSIONS = (0, 2)
    partitions: Annotated[list[MovedLog], Meta(max_length=PARTITIONS_MAX)]


@register
class AlterReplicaLogDirsResponse(Message):
    API_KEY = 34
    API_NAME = "AlterReplicaLogDirs"
    DIRECTION = RESPONSE
    VERSIONS = (0, 2)
    partitions: list[PartitionResult]


@register
class DescribeProducersRequest(Message):
    """Request for the producers that a leader knows (KIP-664)."""

    API_KEY = 61
    API_NAME = "DescribeProducers"
    VERSIONS = (0, 0)
    partitions: Annotated[list[PartitionNamed], Meta(max_length=PARTITIONS_MAX)]


class ActiveProducer(msgspec.Struct, omit_defaults=True):
    """`last_timestamp_ms` -1: its last batch has none.

    `coordinator_epoch`: of its last marker, -1 none. `transaction_start`: offset of its open transaction, -1 none.
    """

    producer_id: Int64
    producer_epoch: Int64
    last_sequence: Int64
    last_timestamp_ms: Int64
    coordinator_epoch: Int64 = -1
    transaction_start: OffsetField = NO_OFFSET


class DescribedProducers(msgspec.Struct, omit_defaults=True):
    topic: Text
    partition: PartitionField
    error: ErrorField = 0
    producers: list[ActiveProducer] = []


@register
class DescribeProducersResponse(Message):
    API_KEY = 61
    API_NAME = "DescribeProducers"
    DIRECTION = RESPONSE
    VERSIONS = (0, 0)
    partitions: list[DescribedProducers]
