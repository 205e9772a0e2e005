"""Records of the metadata log (`__cluster_metadata`): changes of a KRaft cluster's state.

A replica, controller or broker, that applies the same records in the same order has the same state
(`controller.kraft.metadata_image`). Field names are Kafka's; -1 is none.

Source: metadata/src/main/resources/common/metadata/*.json.
"""

from typing import Final

import msgspec

from protocol.ids import BrokerId, LeaderEpoch

UNCHANGED: Final = -2
"""`PartitionChangeRecord.leader`: the leader stays, and with it the leader epoch.

Source: PartitionChangeRecord.json.
"""


class FeatureLevelRecord(msgspec.Struct, frozen=True, gc=False):
    """The level of a feature, such as `metadata.version`."""

    name: str
    level: int


class RegisterBrokerRecord(msgspec.Struct, frozen=True, gc=False):
    """A broker's registration; its epoch is the record's offset or below.

    `node`: the host of its listener.
    """

    broker: BrokerId
    incarnation: str
    epoch: int
    node: str
    rack: str = ""
    fenced: bool = True
    in_controlled_shutdown: bool = False


class UnregisterBrokerRecord(msgspec.Struct, frozen=True, gc=False):
    broker: BrokerId
    epoch: int


class BrokerRegistrationChangeRecord(msgspec.Struct, frozen=True, gc=False):
    """A change of a registration: 1 set, 0 as it is, -1 cleared (`fenced` -1 is unfenced)."""

    broker: BrokerId
    epoch: int
    fenced: int = 0
    in_controlled_shutdown: int = 0


class TopicRecord(msgspec.Struct, frozen=True, gc=False):
    topic: str
    topic_id: str


class RemoveTopicRecord(msgspec.Struct, frozen=True, gc=False):
    topic_id: str


class PartitionRecord(msgspec.Struct, frozen=True, gc=False):
    """A new partition, or all of its state."""

    topic_id: str
    partition: int
    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    leader: BrokerId
    leader_epoch: LeaderEpoch = LeaderEpoch(0)
    partition_epoch: int = 0
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()
    recovering: bool = False
    elr: tuple[BrokerId, ...] = ()
    last_known_elr: tuple[BrokerId, ...] = ()


class PartitionChangeRecord(msgspec.Struct, frozen=True, gc=False):
    """A change of a partition; None: as it is. Each raises the partition epoch by one.

    `leader` other than UNCHANGED raises the leader epoch, even to the same broker.
    """

    topic_id: str
    partition: int
    leader: int = UNCHANGED
    isr: tuple[BrokerId, ...] | None = None
    replicas: tuple[BrokerId, ...] | None = None
    adding: tuple[BrokerId, ...] | None = None
    removing: tuple[BrokerId, ...] | None = None
    recovering: bool | None = None
    elr: tuple[BrokerId, ...] | None = None
    last_known_elr: tuple[BrokerId, ...] | None = None


class ConfigRecord(msgspec.Struct, frozen=True, gc=False):
    """A dynamic setting of a topic (`kind` 2) or of brokers (4, `name` "" all).

    `value` None: removed.
    """

    kind: int
    name: str
    setting: str
    value: str | None


class ClearElrRecord(msgspec.Struct, frozen=True, gc=False):
    """Empty the ELR and last known ELR of a topic's partitions; `topic` "": of all (KIP-966)."""

    topic: str = ""


class ProducerIdsRecord(msgspec.Struct, frozen=True, gc=False):
    """A block of producer ids ends before `next_producer_id`."""

    broker: BrokerId
    broker_epoch: int
    next_producer_id: int


class NoOpRecord(msgspec.Struct, frozen=True, gc=False):
    """No change: the log's end and high watermark move on in an idle cluster."""


MetadataRecord = (
    FeatureLevelRecord
    | RegisterBrokerRecord
    | UnregisterBrokerRecord
    | BrokerRegistrationChangeRecord
    | TopicRecord
    | RemoveTopicRecord
    | PartitionRecord
    | PartitionChangeRecord
    | ConfigRecord
    | ClearElrRecord
    | ProducerIdsRecord
    | NoOpRecord
)

TOPIC_CONFIG: Final = 2
BROKER_CONFIG: Final = 4
"""Kinds of ConfigRecord: ConfigResource.Type."""


class MetadataBatch(msgspec.Struct, frozen=True, gc=False):
    """A batch of the log, decoded: [base_offset, base_offset + len(records)).

    Without records: a control batch.

    `end`: the next batch's offset. `digest`: CRC of its bytes, which all copies of it have. `is_snapshot`: a snapshot,
    which stands for the whole log below `end`; its `epoch` is that of the last record in it. `timestamp_ms`: append
    time of the last record.
    """

    base_offset: int
    end: int
    epoch: LeaderEpoch
    records: tuple[MetadataRecord, ...]
    digest: int = 0
    is_snapshot: bool = False
    size_bytes: int = 0
    timestamp_ms: int = 0

    def offset_of(self, index: int) -> int:
        """Offset of a record; that of a snapshot's is the last one that the snapshot contains."""
        return self.end - 1 if self.is_snapshot else self.base_offset + index

    @property
    def changes_nothing(self) -> bool:
        """Whether it has no-op or control records alone."""
        return all(isinstance(record, NoOpRecord) for record in self.records)
