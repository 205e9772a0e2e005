"""Messages of transactions: producers, their coordinator, its markers, look-ups.

KIP-98, KIP-664, KIP-890.

A transactional id's *coordinator* is the leader of one partition of `__transaction_state`.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from protocol.messages.groups import GroupPartition, OffsetToCommit
from protocol.messages.leadership_messages import PartitionError
from protocol.messages.message_base import (
    RESPONSE,
    Broker32,
    Count,
    ErrorField,
    Int32,
    Int64,
    Message,
    Name,
    Text,
    register,
    unit,
)

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
TRANSACTION_VERSION_MAX: Final = 2
"""Newest level of the feature `transaction.version`."""
FIRST_WITH_FENCED_CODE: Final = 2
"""First version whose clients know PRODUCER_FENCED (KIP-588).

Of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn.
"""
FIRST_BETWEEN_BROKERS: Final = 4
"""First version of AddPartitionsToTxn for brokers (KIP-890)."""
FIRST_WITH_EPOCH_BUMP: Final = 5
"""First version of EndTxn and TxnOffsetCommit of transaction version 2 (KIP-890)."""

ProducerId = Annotated[Int64, unit("producer id", "-1: none")]
ProducerEpoch = Annotated[Int32, unit("producer epoch", "-1: none")]
CoordinatorEpoch = Annotated[Int32, unit("coordinator epoch", "-1: none")]
TransactionalId = Annotated[Text, unit("transactional id")]


@register
class InitProducerIdRequest(Message):
    """Request for a producer id.

    With a `transactional_id` also fence earlier producers, and abort their transaction.

    `producer_id`, `producer_epoch`: what the producer has, to raise its own epoch (KIP-360).
    """

    API_KEY = 22
    API_NAME = "InitProducerId"
    VERSIONS = (0, 5)
    transactional_id: TransactionalId | None = None
    timeout_ms: Annotated[Int32, unit("ms", "of the producer's transactions")] = 2**31 - 1
    producer_id: Annotated[Int64, unit("producer id", since=3)] = NO_PRODUCER_ID
    producer_epoch: Annotated[Int32, unit("producer epoch", since=3)] = NO_PRODUCER_EPOCH


@register
class InitProducerIdResponse(Message):
    API_KEY = 22
    API_NAME = "InitProducerId"
    DIRECTION = RESPONSE
    VERSIONS = (0, 5)
    error: ErrorField = 0
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH


class AddedPartitions(msgspec.Struct, omit_defaults=True):
    """Partitions of one transaction. `verify_only`: check that they are in it, and add none."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    partitions: list[GroupPartition]
    verify_only: Annotated[bool, unit("", since=4)] = False


class AddedResult(msgspec.Struct):
    transactional_id: TransactionalId
    partitions: list[PartitionError]


@register
class AddPartitionsToTxnRequest(Message):
    """Add partitions to transactions.

    A producer adds to its own one, a broker to several (from version 4).
    """

    API_KEY = 24
    API_NAME = "AddPartitionsToTxn"
    VERSIONS = (0, 5)
    transactions: list[AddedPartitions]


@register
class AddPartitionsToTxnResponse(Message):
    """Results, in the request's order."""

    API_KEY = 24
    API_NAME = "AddPartitionsToTxn"
    DIRECTION = RESPONSE
    VERSIONS = (0, 5)
    transactions: list[AddedResult]


@register
class AddOffsetsToTxnRequest(Message):
    """Add the partition of a group's offsets to a transaction."""

    API_KEY = 25
    API_NAME = "AddOffsetsToTxn"
    VERSIONS = (0, 4)
    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    group: str


@register
class AddOffsetsToTxnResponse(Message):
    API_KEY = 25
    API_NAME = "AddOffsetsToTxn"
    DIRECTION = RESPONSE
    VERSIONS = (0, 4)
    error: ErrorField = 0


@register
class EndTxnRequest(Message):
    """Commit or abort a transaction. From version 5 on the producer has transaction version 2."""

    API_KEY = 26
    API_NAME = "EndTxn"
    VERSIONS = (0, 5)
    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    commits: bool


@register
class EndTxnResponse(Message):
    """From version 5 on with the producer id and epoch of the next transaction."""

    API_KEY = 26
    API_NAME = "EndTxn"
    DIRECTION = RESPONSE
    VERSIONS = (0, 5)
    error: ErrorField = 0
    producer_id: Annotated[Int64, unit("producer id", since=5)] = NO_PRODUCER_ID
    producer_epoch: Annotated[Int32, unit("producer epoch", since=5)] = NO_PRODUCER_EPOCH


class TransactionMarkers(msgspec.Struct, omit_defaults=True):
    """Markers of one transaction for these partitions. `transaction_version`: of KIP-1228."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    commits: bool
    partitions: list[GroupPartition]
    coordinator_epoch: CoordinatorEpoch
    transaction_version: Annotated[
        int, Meta(ge=0, le=TRANSACTION_VERSION_MAX), unit("transaction version", since=2)
    ] = 0


class WrittenMarkers(msgspec.Struct):
    producer_id: ProducerId
    partitions: list[PartitionError]


@register
class WriteTxnMarkersRequest(Message):
    """A coordinator's request to write markers into partitions that the receiver leads."""

    API_KEY = 27
    API_NAME = "WriteTxnMarkers"
    VERSIONS = (0, 2)
    markers: list[TransactionMarkers]


@register
class WriteTxnMarkersResponse(Message):
    """Results, in the request's order."""

    API_KEY = 27
    API_NAME = "WriteTxnMarkers"
    DIRECTION = RESPONSE
    VERSIONS = (0, 2)
    markers: list[WrittenMarkers]


@register
class TxnOffsetCommitRequest(Message):
    """Commit offsets of a group as part of a transaction.

    `generation` -1 and `member` "": the producer does not know the group's metadata (KIP-447). From version 5 on the
    coordinator adds its partition to the transaction.
    """

    API_KEY = 28
    API_NAME = "TxnOffsetCommit"
    VERSIONS = (0, 5)
    transactional_id: TransactionalId
    group: str
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    partitions: list[OffsetToCommit]
    generation: Annotated[Int32, unit("generation", "-1: none", since=3)] = -1
    member: Annotated[Text, unit("member id", since=3)] = ""
    instance: Annotated[Name | None, unit("group.instance.id", since=3)] = None


@register
class TxnOffsetCommitResponse(Message):
    API_KEY = 28
    API_NAME = "TxnOffsetCommit"
    DIRECTION = RESPONSE
    VERSIONS = (0, 5)
    partitions: list[PartitionError]


@register
class DescribeTransactionsRequest(Message):
    """Request for the state of transactional ids, at their coordinator (KIP-664)."""

    API_KEY = 65
    API_NAME = "DescribeTransactions"
    VERSIONS = (0, 0)
    transactional_ids: list[TransactionalId]


class DescribedTransaction(msgspec.Struct, omit_defaults=True):
    """State of a transactional id. `started_ms` -1: there is no transaction."""

    transactional_id: TransactionalId
    error: ErrorField = 0
    state: str = ""
    timeout_ms: Annotated[Int32, unit("ms")] = 0
    started_ms: Annotated[Int64, unit("ms", "since 1970")] = -1
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    partitions: list[GroupPartition] = []


@register
class DescribeTransactionsResponse(Message):
    API_KEY = 65
    API_NAME = "DescribeTransactions"
    DIRECTION = RESPONSE
    VERSIONS = (0, 0)
    transactions: list[DescribedTransaction]


@register
class ListTransactionsRequest(Message):
    """Request for the transactional ids that the receiver coordinates (KIP-664).

    Empty filters let all pass.

    `longer_than_ms` -1: any duration (version 1).
    """

    API_KEY = 66
    API_NAME = "ListTransactions"
    VERSIONS = (0, 1)
    states: list[Text] = []
    producer_ids: list[Int64] = []
    longer_than_ms: Annotated[Int64, unit("ms", since=1)] = -1


class ListedTransaction(msgspec.Struct):
    transactional_id: TransactionalId
    producer_id: ProducerId
    state: str


@register
class ListTransactionsResponse(Message):
    """`unknown_states`: filters that are no state's name."""

    API_KEY = 66
    API_NAME = "ListTransactions"
    DIRECTION = RESPONSE
    VERSIONS = (0, 1)
    error: ErrorField = 0
    unknown_states: list[Text] = []
    transactions: list[ListedTransaction] = []


@register
class AllocateProducerIdsRequest(Message):
    """A broker's request to the controller for a block of producer ids (KIP-730)."""

    API_KEY = 67
    API_NAME = "AllocateProducerIds"
    VERSIONS = (0, 0)
    broker: Broker32
    broker_epoch: Annotated[Int64, unit("broker epoch")]


@register
class AllocateProducerIdsResponse(Message):
    """The block: `count` ids from `first` on."""

    API_KEY = 67
    API_NAME = "AllocateProducerIds"
    DIRECTION = RESPONSE
    VERSIONS = (0, 0)
    error: ErrorField = 0
    first: ProducerId = NO_PRODUCER_ID
    count: Count = 0
