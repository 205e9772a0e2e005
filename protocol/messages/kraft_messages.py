"""Messages of brokers to the quorum's controller, and the observation of the metadata log.

BrokerRegistration, BrokerHeartbeat and AlterPartition are the broker's own; requests of clients that change the cluster
(CreateTopics, ...) are forwarded as they are (Envelope, KIP-590).
"""

from typing import Annotated

import msgspec

from protocol.ids import EPOCH_UNKNOWN, NO_BROKER, NO_OFFSET
from protocol.messages.message_base import (
    ONE_WAY,
    RESPONSE,
    BrokerField,
    EpochField,
    ErrorField,
    Int64,
    Message,
    Name,
    OffsetField,
    register,
    unit,
)

Incarnation = Annotated[Name, unit("uuid", "of one life of a broker's process")]
RegistrationEpoch = Annotated[Int64, unit("offset", "of the broker's registration; -1 unknown")]


@register
class BrokerRegistrationRequest(Message):
    """Registration of a broker's process (KIP-631).

    `previous_epoch`: of its last life, if that stopped cleanly.
    """

    API_KEY = 62
    API_NAME = "BrokerRegistration"
    VERSIONS = (0, 4)
    broker: BrokerField
    incarnation: Incarnation
    node: Name
    rack: Name = ""
    previous_epoch: RegistrationEpoch = -1


@register
class BrokerRegistrationResponse(Message):
    API_KEY = 62
    API_NAME = "BrokerRegistration"
    DIRECTION = RESPONSE
    VERSIONS = (0, 4)
    error: ErrorField = 0
    broker_epoch: RegistrationEpoch = -1


@register
class BrokerHeartbeatRequest(Message):
    """Heartbeat of a registered broker.

    `metadata_offset`: the last offset that it has applied, -1 none.
    """

    API_KEY = 63
    API_NAME = "BrokerHeartbeat"
    VERSIONS = (0, 1)
    broker: BrokerField
    broker_epoch: RegistrationEpoch
    metadata_offset: OffsetField
    want_fence: bool = False
    want_shut_down: bool = False


@register
class BrokerHeartbeatResponse(Message):
    API_KEY = 63
    API_NAME = "BrokerHeartbeat"
    DIRECTION = RESPONSE
    VERSIONS = (0, 1)
    error: ErrorField = 0
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


@register
class UnregisterBrokerRequest(Message):
    API_KEY = 64
    API_NAME = "UnregisterBroker"
    broker: BrokerField


@register
class UnregisterBrokerResponse(Message):
    API_KEY = 64
    API_NAME = "UnregisterBroker"
    DIRECTION = RESPONSE
    error: ErrorField = 0


@register
class ObserveQuorumRequest(Message):
    """Emulator only: subscribe to this controller's quorum view and its committed records."""

    API_KEY = 1192
    API_NAME = "ObserveQuorum"


class CommittedBatch(msgspec.Struct, omit_defaults=True):
    """A committed batch of the metadata log; `values`: of its records, none for a control batch.

    `is_snapshot`: a snapshot, which stands for the whole log below `end`.
    """

    base_offset: OffsetField
    end: OffsetField
    epoch: EpochField
    values: list[bytes] = []
    is_snapshot: bool = False


@register
class QuorumObserved(Message):
    """This controller's state, and committed batches that it has not pushed before, in order.

    `state`: leader, follower, candidate, ... `leader` -1: unknown. `active`: it is active by its own view.
    """

    API_KEY = 1192
    API_NAME = "ObserveQuorum"
    DIRECTION = ONE_WAY
    node: BrokerField
    state: Name
    epoch: EpochField
    leader: BrokerField = NO_BROKER
    active: bool = False
    high_watermark: OffsetField = NO_OFFSET
    batches: list[CommittedBatch] = []


@register
class DescribeQuorumRequest(Message):
    """State of the quorum, which its leader alone knows (KIP-595)."""

    API_KEY = 55
    API_NAME = "DescribeQuorum"
    VERSIONS = (0, 2)


class QuorumReplica(msgspec.Struct, omit_defaults=True):
    """A voter or observer, as the leader knows it."""

    replica: BrokerField
    log_end: OffsetField
    last_fetch_ms: Int64 = -1
    last_caught_up_ms: Int64 = -1


@register
class DescribeQuorumResponse(Message):
    """`error` NOT_LEADER_OR_FOLLOWER: another node leads, maybe `leader`."""

    API_KEY = 55
    API_NAME = "DescribeQuorum"
    DIRECTION = RESPONSE
    VERSIONS = (0, 2)
    error: ErrorField = 0
    leader: BrokerField = NO_BROKER
    epoch: EpochField = EPOCH_UNKNOWN
    high_watermark: OffsetField = NO_OFFSET
    voters: list[QuorumReplica] = []
    observers: list[QuorumReplica] = []
