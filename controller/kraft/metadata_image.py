"""State of a KRaft cluster: what the records of the metadata log add up to.

A controller has one of all committed records, and while it is active another one with its uncommitted records. A broker
has one of the records that it has read. An image of the same records is the same everywhere.

Source: MetadataImage, ReplicationControlManager.replay, ClusterControlManager.replay.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.records.metadata_records import (
    UNCHANGED,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataBatch,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)

ALL_BROKERS: Final = ""
"""Name of the dynamic settings of all brokers."""


class PartitionRegistration(msgspec.Struct, frozen=True, gc=False):
    """State of a partition. `leader` -1: none. Source: PartitionRegistration."""

    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    leader: BrokerId
    leader_epoch: LeaderEpoch
    partition_epoch: int
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()
    recovering: bool = False
    elr: tuple[BrokerId, ...] = ()
    last_known_elr: tuple[BrokerId, ...] = ()

    def merge(self, change: PartitionChangeRecord) -> "PartitionRegistration":
        """This state with the change: partition epoch + 1, leader epoch + 1 if it sets a leader."""
        sets_leader = change.leader != UNCHANGED
        return PartitionRegistration(
            self.replicas if change.replicas is None else change.replicas,
            self.isr if change.isr is None else change.isr,
            BrokerId(change.leader) if sets_leader else self.leader,
            LeaderEpoch(self.leader_epoch + 1) if sets_leader else self.leader_epoch,
            self.partition_epoch + 1,
            self.adding if change.adding is None else change.adding,
            self.removing if change.removing is None else change.removing,
            self.recovering if change.recovering is None else change.recovering,
            self.elr if change.elr is None else change.elr,
            self.last_known_elr if change.last_known_elr is None else change.last_known_elr,
        )


class BrokerRegistration(msgspec.Struct, frozen=True, gc=False):
    """Registration of a broker. `registered_at`: offset of its record (BrokerRegistration)."""

    broker: BrokerId
    epoch: int
    incarnation: str
    node: str
    rack: str
    fenced: bool
    in_controlled_shutdown: bool
    registered_at: Offset

    @property
    def is_active(self) -> bool:
        """Whether it may lead: unfenced, and not in controlled shutdown."""
        return not self.fenced and not self.in_controlled_shutdown


class TopicImage(msgspec.Struct, gc=False):
    """A topic. `partitions`: {number: state}."""

    topic: str
    topic_id: str
    partitions: dict[int, PartitionRegistration] = {}


class MetadataImage:
    """The state after the records below `next_offset`. `epoch`: of the last of them.

    Apply every record once and in order. Raises ValueError for a record of an unknown topic, partition or broker: a
    replay that fails ends a process of Kafka's.
    """

    def __init__(self) -> None:
        self.next_offset = Offset(0)
        self.epoch = LeaderEpoch(0)
        self.features: dict[str, int] = {}
        self.brokers: dict[BrokerId, BrokerRegistration] = {}
        self.topics: dict[str, TopicImage] = {}
        self.topic_names: dict[str, str] = {}
        """{topic id: name}"""
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        """{(kind, name): dynamic settings}; kinds are those of ConfigRecord."""
        self.next_producer_id = 0

    def copy(self) -> "MetadataImage":
        """A copy that later records of either do not change in the other."""
        other = MetadataImage()
        other.next_offset, other.epoch, other.next_producer_id = self.next_offset, self.epoch, self.next_producer_id
        other.features = dict(self.features)
        other.brokers = dict(self.brokers)
        other.topics = {
            name: TopicImage(topic.topic, topic.topic_id, dict(topic.partitions)) for name, topic in self.topics.items()
        }
        other.topic_names = dict(self.topic_names)
        other.configs = {place: dict(settings) for place, settings in self.configs.items()}
        return other

    def clear(self) -> None:
        """Begin again without any record."""
        for state in (self.features, self.brokers, self.topics, self.topic_names, self.configs):
            state.clear()
        self.next_producer_id = 0

    # --- questions ---

    def partition(self, topic: str, partition: int) -> PartitionRegistration | None:
        found = self.topics.get(topic)
        return found.partitions.get(partition) if found is not None else None

    def partitions(self) -> Iterable[tuple[TopicImage, int, PartitionRegistration]]:
        """All partitions, by topic in the order of creation, then by number."""
        for topic in self.topics.values():
            for number, state in sorted(topic.partitions.items()):
                yield topic, number, state

    def config(self, kind: int, name: str, setting: str) -> str | None:
        return self.configs.get((kind, name), {}).get(setting)

    @property
    def unfenced(self) -> dict[BrokerId, BrokerRegistration]:
        return {broker: known for broker, known in self.brokers.items() if not known.fenced}

    # --- records ---

    def apply_batch(self, batch: MetadataBatch) -> None:
        """Apply a batch's records; a snapshot replaces the state.

        A control batch moves the offset alone.
        """
        if batch.is_snapshot:
            self.clear()
        for index, record in enumerate(batch.records):
            self.apply(record, Offset(batch.offset_of(index)))
        self.next_offset, self.epoch = Offset(batch.end), batch.epoch

    def apply(self, record: MetadataRecord, offset: Offset) -> None:
        """Apply the record at `offset`."""
        match record:
            case PartitionChangeRecord():
                topic = self._topic_of(record.topic_id)
                known = topic.partitions.get(record.partition)
                if known is None:
                    raise ValueError(f"metadata record at {offset}: {topic.topic} has no partition {record.partition}")
                topic.partitions[record.partition] = known.merge(record)
            case PartitionRecord():
                self._topic_of(record.topic_id).partitions[record.partition] = PartitionRegistration(
                    record.replicas, record.isr, record.leader, record.leader_epoch, record.partition_epoch,
                    record.adding, record.removing, record.recovering, record.elr, record.last_known_elr,
                )  # fmt: skip
            case TopicRecord(topic=name, topic_id=topic_id):
                self.topics[name] = TopicImage(name, topic_id, {})
                self.topic_names[topic_id] = name
            case RemoveTopicRecord(topic_id=topic_id):
                topic = self._topic_of(topic_id)
                del self.topics[topic.topic], self.topic_names[topic_id]
                self.configs.pop((2, topic.topic), None)
            case RegisterBrokerRecord():
                self.brokers[record.broker] = BrokerRegistration(
                    record.broker, record.epoch, record.incarnation, record.node, record.rack, record.fenced,
                    record.in_controlled_shutdown, offset,
                )  # fmt: skip
            case BrokerRegistrationChangeRecord():
                self._change_registration(record, offset)
            case UnregisterBrokerRecord(broker=broker):
                self.brokers.pop(broker, None)
            case ConfigRecord(kind=kind, name=name, setting=setting, value=value):
                settings = self.configs.setdefault((kind, name), {})
                if value is None:
                    settings.pop(setting, None)
                else:
                    settings[setting] = value
            case ClearElrRecord(topic=name):
                self._clear_elr(name)
            case FeatureLevelRecord(name=name, level=level):
                self.features[name] = level
            case ProducerIdsRecord(next_producer_id=after):
                self.next_producer_id = after
            case NoOpRecord():
                pass
        self.next_offset = Offset(offset + 1)

    def _topic_of(self, topic_id: str) -> TopicImage:
        name = self.topic_names.get(topic_id)
        if name is None:
            raise ValueError(f"metadata record: no topic has the id {topic_id}")
        return self.topics[name]

    def _change_registration(self, change: BrokerRegistrationChangeRecord, offset: Offset) -> None:
        known = self.brokers.get(change.broker)
        if known is None or known.epoch != change.epoch:
            raise ValueError(f"metadata record at {offset}: broker {change.broker} has no registration {change.epoch}")
        self.brokers[change.broker] = BrokerRegistration(
            known.broker, known.epoch, known.incarnation, known.node, known.rack,
            known.fenced if change.fenced == 0 else change.fenced > 0,
            known.in_controlled_shutdown if change.in_controlled_shutdown == 0 else change.in_controlled_shutdown > 0,
            known.registered_at,
        )  # fmt: skip

    def _clear_elr(self, name: str) -> None:
        """Source: ReplicationControlManager.replay(ClearElrRecord)."""
        for topic in self.topics.values():
            if name and topic.topic != name:
                continue
            for number, state in topic.partitions.items():
                if state.elr or state.last_known_elr:
                    nothing = PartitionChangeRecord(topic.topic_id, number, elr=(), last_known_elr=())
                    topic.partitions[number] = state.merge(nothing)
