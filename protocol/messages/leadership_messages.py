"""Messages of the controller, and about leadership.

Metadata, LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown, AlterIsr.
"""

from typing import Annotated

import msgspec

from protocol.ids import BROKER_EPOCH_UNKNOWN, EPOCH_UNKNOWN, NO_LEADER
from protocol.messages.message_base import (
    ONE_WAY,
    RESPONSE,
    Broker32,
    BrokerField,
    ControllerEpochField,
    Epoch32,
    EpochField,
    ErrorField,
    Int32,
    Int64,
    Message,
    PartitionField,
    register,
    unit,
)

BrokerEpochField = Annotated[Int64, unit("zxid", "of the broker's registration; -1 unknown (KIP-380)", since=2)]


@register
class MetadataRequest(Message):
    """Request for metadata. Empty `topics`: all.

    `allow_auto_topic_creation`: missing topics may be created. Our own clients never permit it; other clients do by
    default.
    """

    API_KEY = 3
    API_NAME = "Metadata"
    VERSIONS = (0, 9)
    topics: list[str] = []
    allow_auto_topic_creation: bool = False


class BrokerEndpoint(msgspec.Struct, omit_defaults=True):
    """A live broker and its node; `rack` is its AZ."""

    broker: BrokerField
    node: str
    rack: str = ""


class PartitionMetadata(msgspec.Struct, omit_defaults=True):
    topic: str
    partition: PartitionField
    error: ErrorField = 0
    leader: BrokerField = NO_LEADER
    leader_epoch: Annotated[Epoch32, unit("leader epoch", since=7)] = EPOCH_UNKNOWN
    isr: list[Broker32] = []
    replicas: list[Broker32] = []
    offline_replicas: Annotated[list[Broker32], unit("broker ids", since=5)] = []


@register
class MetadataResponse(Message):
    """This broker's view: `controller` -1 is none.

    `reliable_epochs`: true from version 9 (Kafka 2.4). All nodes here use one version, so it is a field.
    """

    API_KEY = 3
    API_NAME = "Metadata"
    DIRECTION = RESPONSE
    VERSIONS = (0, 9)
    controller: BrokerField
    brokers: list[BrokerEndpoint]
    partitions: list[PartitionMetadata]
    reliable_epochs: bool = True


class PartitionState(msgspec.Struct, omit_defaults=True):
    """One partition's leadership as the controller decided it.

    `topic_id`: the emulator's own, for its events, and for AlterIsr. No broker compares it, so that brokers behave as
    up to 2.7.
    """

    topic: str
    partition: PartitionField
    controller_epoch: ControllerEpochField
    leader: BrokerField
    leader_epoch: EpochField
    isr: list[Broker32]
    zk_version: Int32
    replicas: list[Broker32]
    is_new: Annotated[bool, unit("flag", since=1)] = False
    adding: Annotated[list[Broker32], unit("broker ids", since=3)] = []
    removing: Annotated[list[Broker32], unit("broker ids", since=3)] = []
    offline_replicas: list[Broker32] = []
    topic_id: str = ""


@register
class LeaderAndIsrRequest(Message):
    """Order to become leader or follower (semantics 1.7)."""

    API_KEY = 4
    API_NAME = "LeaderAndIsr"
    VERSIONS = (0, 4)
    controller: BrokerField
    controller_epoch: ControllerEpochField
    partitions: list[PartitionState]
    live_leaders: list[BrokerEndpoint]
    broker_epoch: BrokerEpochField = BROKER_EPOCH_UNKNOWN


class PartitionError(msgspec.Struct, omit_defaults=True):
    topic: str
    partition: PartitionField
    error: ErrorField = 0


@register
class LeaderAndIsrResponse(Message):
    API_KEY = 4
    API_NAME = "LeaderAndIsr"
    DIRECTION = RESPONSE
    VERSIONS = (0, 4)
    error: ErrorField = 0
    partitions: list[PartitionError] = []


class StoppedPartition(msgspec.Struct, omit_defaults=True):
    """`leader_epoch` -1: unknown; -2: the topic is being deleted (semantics 1.7)."""

    topic: str
    partition: PartitionField
    delete: bool = False
    leader_epoch: Annotated[Epoch32, unit("leader epoch", since=3)] = EPOCH_UNKNOWN


@register
class StopReplicaRequest(Message):
    API_KEY = 5
    API_NAME = "StopReplica"
    VERSIONS = (0, 3)
    controller: BrokerField
    controller_epoch: ControllerEpochField
    partitions: list[StoppedPartition]
    broker_epoch: BrokerEpochField = BROKER_EPOCH_UNKNOWN


@register
class StopReplicaResponse(Message):
    API_KEY = 5
    API_NAME = "StopReplica"
    DIRECTION = RESPONSE
    VERSIONS = (0, 3)
    error: ErrorField = 0
    partitions: list[PartitionError] = []


@register
class UpdateMetadataRequest(Message):
    """Replace cached metadata of the named partitions, and the list of live brokers.

    Leader -2: the topic is being deleted.
    """

    API_KEY = 6
    API_NAME = "UpdateMetadata"
    VERSIONS = (0, 6)
    controller: BrokerField
    controller_epoch: ControllerEpochField
    partitions: list[PartitionState]
    live_brokers: list[BrokerEndpoint]
    broker_epoch: BrokerEpochField = BROKER_EPOCH_UNKNOWN


@register
class UpdateMetadataResponse(Message):
    API_KEY = 6
    API_NAME = "UpdateMetadata"
    DIRECTION = RESPONSE
    VERSIONS = (0, 6)
    error: ErrorField = 0


@register
class ControlledShutdownRequest(Message):
    """A broker's request to lose its leaderships before it stops."""

    API_KEY = 7
    API_NAME = "ControlledShutdown"
    VERSIONS = (0, 3)
    broker: BrokerField
    broker_epoch: BrokerEpochField = BROKER_EPOCH_UNKNOWN


@register
class ControlledShutdownResponse(Message):
    """`remaining`: partitions that it still leads."""

    API_KEY = 7
    API_NAME = "ControlledShutdown"
    DIRECTION = RESPONSE
    VERSIONS = (0, 3)
    error: ErrorField = 0
    remaining: list[tuple[str, Int32]] = []


class IsrChange(msgspec.Struct, omit_defaults=True):
    """ISR that a leader proposes, conditional on `zk_version` (in KRaft the partition epoch).

    `topic_id`: from version 2 on. `broker_epochs`: of the ISR's members, in its order, -1 unknown (KIP-903).
    """

    topic: str
    partition: PartitionField
    leader: BrokerField
    leader_epoch: EpochField
    isr: list[Broker32]
    zk_version: Int32
    topic_id: Annotated[str, unit("topic id", since=2)] = ""
    broker_epochs: Annotated[list[Int64], unit("broker epochs", since=3)] = []


@register
class AlterIsrRequest(Message):
    """Proposals of a leader for its ISRs (KIP-497, semantics 1.6 and 11.6)."""

    API_KEY = 56
    API_NAME = "AlterIsr"
    VERSIONS = (0, 3)
    broker: BrokerField
    broker_epoch: BrokerEpochField
    partitions: list[IsrChange]


class IsrChanged(msgspec.Struct, omit_defaults=True):
    """The state in force, or the error of the change."""

    topic: str
    partition: PartitionField
    error: ErrorField = 0
    leader: BrokerField = NO_LEADER
    leader_epoch: EpochField = EPOCH_UNKNOWN
    isr: list[Broker32] = []
    zk_version: Int32 = -1


@register
class AlterIsrResponse(Message):
    API_KEY = 56
    API_NAME = "AlterIsr"
    DIRECTION = RESPONSE
    VERSIONS = (0, 3)
    error: ErrorField = 0
    partitions: list[IsrChanged] = []


@register
class ObserveMetadataRequest(Message):
    """Emulator only: subscribe to this broker's metadata, now and on each change."""

    API_KEY = 1191
    API_NAME = "ObserveMetadata"


@register
class MetadataObserved(Message):
    """Metadata pushed to observers of this broker."""

    API_KEY = 1191
    API_NAME = "ObserveMetadata"
    DIRECTION = ONE_WAY
    broker: BrokerField
    metadata: MetadataResponse
