"""Messages of the controller and about leadership: Metadata, LeaderAndIsr, StopReplica, UpdateMetadata,
ControlledShutdown, AlterIsr."""

from typing import Annotated

import msgspec

from protocol.ids import BROKER_EPOCH_UNKNOWN, EPOCH_UNKNOWN, NO_LEADER
from protocol.messages.base import (
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
    """Empty `topics`: all. `allow_auto_topic_creation`: those that are not there may be made. Our own clients never
    say so, others do unless they are told not to."""

    API_KEY = 3
    API_NAME = "Metadata"
    VERSIONS = (0, 9)
    topics: list[str] = []
    allow_auto_topic_creation: bool = False


class BrokerEndpoint(msgspec.Struct, omit_defaults=True):
    """A live broker and where it is; `rack` is its AZ."""

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
    """What this broker believes: `controller` -1 is none. `reliable_epochs`: of version 9, which Kafka has from 2.4 on;
    here all speak one version, so it is said."""

    API_KEY = 3
    API_NAME = "Metadata"
    DIRECTION = RESPONSE
    VERSIONS = (0, 9)
    controller: BrokerField
    brokers: list[BrokerEndpoint]
    partitions: list[PartitionMetadata]
    reliable_epochs: bool = True


class PartitionState(msgspec.Struct, omit_defaults=True):
    """One partition's leadership as the controller decided it."""

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


@register
class LeaderAndIsrRequest(Message):
    """Become leader or follower (semantics 1.7)."""

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
    """`leader_epoch` -1 unknown, -2 the topic is being deleted (semantics 1.7)."""

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
    """Replaces cached metadata of the partitions named, and the list of live brokers. Leader -2: topic being
    deleted."""

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
    """A broker asks to be relieved of its leaderships before it stops."""

    API_KEY = 7
    API_NAME = "ControlledShutdown"
    VERSIONS = (0, 3)
    broker: BrokerField
    broker_epoch: BrokerEpochField = BROKER_EPOCH_UNKNOWN


@register
class ControlledShutdownResponse(Message):
    """`remaining`: partitions it still leads."""

    API_KEY = 7
    API_NAME = "ControlledShutdown"
    DIRECTION = RESPONSE
    VERSIONS = (0, 3)
    error: ErrorField = 0
    remaining: list[tuple[str, Int32]] = []


class IsrChange(msgspec.Struct, omit_defaults=True):
    """The ISR a leader proposes, conditional on `zk_version`."""

    topic: str
    partition: PartitionField
    leader: BrokerField
    leader_epoch: EpochField
    isr: list[Broker32]
    zk_version: Int32


@register
class AlterIsrRequest(Message):
    """KIP-497, semantics 1.6 and 11.6."""

    API_KEY = 56
    API_NAME = "AlterIsr"
    VERSIONS = (0, 0)
    broker: BrokerField
    broker_epoch: BrokerEpochField
    partitions: list[IsrChange]


class IsrChanged(msgspec.Struct, omit_defaults=True):
    """The state that now holds, or why the change was refused."""

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
    VERSIONS = (0, 0)
    error: ErrorField = 0
    partitions: list[IsrChanged] = []


@register
class ObserveMetadataRequest(Message):
    """Emulator only: an observer asks for this broker's metadata now and whenever it changes."""

    API_KEY = 1191
    API_NAME = "ObserveMetadata"


@register
class MetadataObserved(Message):
    """Pushed to observers of this broker's metadata."""

    API_KEY = 1191
    API_NAME = "ObserveMetadata"
    DIRECTION = ONE_WAY
    broker: BrokerField
    metadata: MetadataResponse
