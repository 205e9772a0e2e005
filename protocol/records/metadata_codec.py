"""Kafka's bytes of the records of the metadata log.

    frame version = 1, API key, version (each an unsigned varint), then the record as a flexible message

A record is written in the lowest version that has its fields. Reading accepts all versions through 4.4 and skips what
the emulator does not model: features, log directories, migration. `node` is the host of a broker's first endpoint.

Source: MetadataRecordSerde, metadata/src/main/resources/common/metadata/*.json.
"""

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar

from protocol.ids import BrokerId, LeaderEpoch
from protocol.records.compact_fields import (
    NO_TAGS,
    UUID_BYTES,
    CompactFields,
    brokers,
    compact_string,
    nullable_string,
    tagged,
    uuid,
    uvarint,
)
from protocol.records.metadata_records import (
    UNCHANGED,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
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
from protocol.records.schema_fields import UnreadableRecord

FRAME_VERSION: Final = 1
LISTENER: Final = "PLAINTEXT"
ELR_VERSION: Final = 2
"""First version of partition records with eligible leader replicas (KIP-966)."""
DIRECTORIES_VERSION: Final = 1
MIGRATION_VERSION: Final = 2

_UNREGISTER_BROKER: Final = 1
_PARTITION_CHANGE: Final = 5
_KEYS: Final[dict[type[MetadataRecord], int]] = {
    RegisterBrokerRecord: 0, UnregisterBrokerRecord: _UNREGISTER_BROKER, TopicRecord: 2, PartitionRecord: 3,
    ConfigRecord: 4, PartitionChangeRecord: _PARTITION_CHANGE, RemoveTopicRecord: 9, FeatureLevelRecord: 12,
    ProducerIdsRecord: 15, BrokerRegistrationChangeRecord: 17, NoOpRecord: 20, ClearElrRecord: 28,
}  # fmt: skip
_RECORD = TypeVar("_RECORD")
DECODED_MAX: Final = 1_024
"""Bound of the remembered records; they are immutable."""


def encode_metadata_record(record: MetadataRecord) -> bytes:
    """The value of the record. Raises ValueError for a topic id or incarnation that is no uuid."""
    version, body = _body(record)
    return uvarint(FRAME_VERSION) + uvarint(_KEYS[type(record)]) + uvarint(version) + body


@lru_cache(maxsize=DECODED_MAX)
def decode_metadata_record(value: bytes) -> MetadataRecord:
    """The record of a value. Each node of a simulated cluster reads the same values.

    Raises UnreadableRecord, also for a kind that the emulator does not have.
    """
    fields = CompactFields(value, "metadata record")
    if (frame := fields.uvarint()) != FRAME_VERSION:
        raise UnreadableRecord(f"metadata record: frame version {frame}, known is {FRAME_VERSION}")
    key, version = fields.uvarint(), fields.uvarint()
    known = _READERS.get(key)
    if known is None:
        raise UnreadableRecord(f"metadata record: unknown API key {key}")
    reader, newest = known
    if version > newest:
        raise UnreadableRecord(f"metadata record: version {version} of API key {key}, known are 0 to {newest}")
    record = reader(fields, version)
    fields.end()
    return record


# --- writing ---


def _body(record: MetadataRecord) -> tuple[int, bytes]:
    """The version and the fields of a record."""
    match record:
        case FeatureLevelRecord(name=name, level=level):
            return 0, compact_string(name) + struct.pack(">h", level) + NO_TAGS
        case RegisterBrokerRecord():
            return 1, _registration(record)
        case UnregisterBrokerRecord(broker=broker, epoch=epoch):
            return 0, struct.pack(">iq", broker, epoch) + NO_TAGS
        case BrokerRegistrationChangeRecord():
            changes = tagged((0, _nonzero(record.fenced)), (1, _nonzero(record.in_controlled_shutdown)))
            return 1, struct.pack(">iq", record.broker, record.epoch) + changes
        case TopicRecord(topic=topic, topic_id=topic_id):
            return 0, compact_string(topic) + uuid(topic_id) + NO_TAGS
        case RemoveTopicRecord(topic_id=topic_id):
            return 0, uuid(topic_id) + NO_TAGS
        case PartitionRecord():
            return _partition(record)
        case PartitionChangeRecord():
            return _partition_change(record)
        case ConfigRecord(kind=kind, name=name, setting=setting, value=value):
            texts = compact_string(name) + compact_string(setting) + nullable_string(value)
            return 0, struct.pack(">b", kind) + texts + NO_TAGS
        case ClearElrRecord(topic=topic):
            return 0, compact_string(topic) + NO_TAGS
        case ProducerIdsRecord():
            return 0, struct.pack(">iqq", record.broker, record.broker_epoch, record.next_producer_id) + NO_TAGS
        case NoOpRecord():
            return 0, NO_TAGS


def _nonzero(change: int) -> bytes | None:
    return struct.pack(">b", change) if change else None


def _optional(ids: tuple[BrokerId, ...] | None) -> bytes | None:
    return None if ids is None else brokers(ids)


def _registration(record: RegisterBrokerRecord) -> bytes:
    endpoint = compact_string(LISTENER) + compact_string(record.node) + struct.pack(">Hh", 0, 0) + NO_TAGS
    return b"".join((
        struct.pack(">i", record.broker), uuid(record.incarnation), struct.pack(">q", record.epoch),
        uvarint(2), endpoint, uvarint(1), nullable_string(record.rack or None),
        struct.pack(">??", record.fenced, record.in_controlled_shutdown), NO_TAGS,
    ))  # fmt: skip


def _partition(record: PartitionRecord) -> tuple[int, bytes]:
    version = ELR_VERSION if record.elr or record.last_known_elr else 0
    return version, b"".join((
        struct.pack(">i", record.partition), uuid(record.topic_id), brokers(record.replicas), brokers(record.isr),
        brokers(record.removing), brokers(record.adding),
        struct.pack(">iii", record.leader, record.leader_epoch, record.partition_epoch),
        brokers(()) if version >= DIRECTORIES_VERSION else b"",
        tagged(
            (0, _nonzero(record.recovering)), (1, _optional(record.elr or None)),
            (2, _optional(record.last_known_elr or None)),
        ),
    ))  # fmt: skip


def _partition_change(record: PartitionChangeRecord) -> tuple[int, bytes]:
    version = 0 if record.elr is None and record.last_known_elr is None else ELR_VERSION
    leader = None if record.leader == UNCHANGED else struct.pack(">i", record.leader)
    recovering = None if record.recovering is None else struct.pack(">b", record.recovering)
    return version, struct.pack(">i", record.partition) + uuid(record.topic_id) + tagged(
        (0, _optional(record.isr)), (1, leader), (2, _optional(record.replicas)), (3, _optional(record.removing)),
        (4, _optional(record.adding)), (5, recovering), (6, _optional(record.elr)),
        (7, _optional(record.last_known_elr)),
    )  # fmt: skip


# --- reading ---


def _tags(fields: CompactFields, *known: tuple[int, str, Callable[[CompactFields], object]]) -> dict[str, Any]:
    """The values of the tagged fields that are present, by name."""
    found: dict[str, Any] = {}

    def reader(name: str, read: Callable[[CompactFields], object]) -> Callable[[CompactFields], None]:
        return lambda field: found.__setitem__(name, read(field))

    fields.tagged({tag: reader(name, read) for tag, name, read in known})
    return found


def _ended(fields: CompactFields, record: _RECORD) -> _RECORD:
    """`record`, after the tagged fields that end it, of which none is known."""
    fields.tagged({})
    return record


def _int8(fields: CompactFields) -> int:
    return fields.number(">b")


def _broker(fields: CompactFields) -> BrokerId:
    return BrokerId(fields.number(">i"))


def _read_registration(fields: CompactFields, version: int) -> MetadataRecord:
    broker = _broker(fields)
    if version >= MIGRATION_VERSION:
        fields.number(">?")
    incarnation, epoch = fields.uuid(), fields.number(">q")
    hosts = []
    for _ in range(fields.count()):
        fields.compact_string()
        hosts.append(fields.compact_string())
        fields.number(">I")
        fields.tagged({})
    for _ in range(fields.count()):
        fields.compact_string()
        fields.number(">I")
        fields.tagged({})
    rack = fields.nullable_compact_string() or ""
    fenced = bool(fields.number(">?"))
    in_controlled_shutdown = bool(fields.number(">?")) if version >= 1 else False
    node = hosts[0] if hosts else ""
    return _ended(fields, RegisterBrokerRecord(broker, incarnation, epoch, node, rack, fenced, in_controlled_shutdown))


def _read_registration_change(fields: CompactFields, _version: int) -> MetadataRecord:
    broker, epoch = _broker(fields), fields.number(">q")
    return BrokerRegistrationChangeRecord(
        broker, epoch, **_tags(fields, (0, "fenced", _int8), (1, "in_controlled_shutdown", _int8))
    )


def _read_partition(fields: CompactFields, version: int) -> MetadataRecord:
    partition, topic_id = fields.number(">i"), fields.uuid()
    replicas, isr, removing, adding = fields.brokers(), fields.brokers(), fields.brokers(), fields.brokers()
    leader, leader_epoch, partition_epoch = _broker(fields), LeaderEpoch(fields.number(">i")), fields.number(">i")
    if version >= DIRECTORIES_VERSION:
        for _ in range(fields.count()):
            fields.skip(UUID_BYTES)
    found = _tags(
        fields, (0, "recovering", lambda field: _int8(field) == 1), (1, "elr", CompactFields.brokers),
        (2, "last_known_elr", CompactFields.brokers),
    )  # fmt: skip
    return PartitionRecord(
        topic_id, partition, replicas, isr, leader, leader_epoch, partition_epoch, adding, removing, **found
    )


def _read_partition_change(fields: CompactFields, _version: int) -> MetadataRecord:
    partition, topic_id = fields.number(">i"), fields.uuid()
    ids = CompactFields.nullable_brokers
    found = _tags(
        fields, (0, "isr", ids), (1, "leader", _broker), (2, "replicas", ids), (3, "removing", ids),
        (4, "adding", ids), (5, "recovering", lambda field: {0: False, 1: True}.get(_int8(field))),
        (6, "elr", ids), (7, "last_known_elr", ids),
    )  # fmt: skip
    return PartitionChangeRecord(topic_id, partition, **found)


def _read_config(fields: CompactFields, _version: int) -> MetadataRecord:
    kind, name, setting = _int8(fields), fields.compact_string(), fields.compact_string()
    return _ended(fields, ConfigRecord(kind, name, setting, fields.nullable_compact_string()))


def _read_producer_ids(fields: CompactFields, _version: int) -> MetadataRecord:
    return _ended(fields, ProducerIdsRecord(_broker(fields), fields.number(">q"), fields.number(">q")))


_READERS: Final[dict[int, tuple[Callable[[CompactFields, int], MetadataRecord], int]]] = {
    0: (_read_registration, 4),
    1: (lambda fields, _: _ended(fields, UnregisterBrokerRecord(_broker(fields), fields.number(">q"))), 0),
    2: (lambda fields, _: _ended(fields, TopicRecord(fields.compact_string(), fields.uuid())), 0),
    3: (_read_partition, 2),
    4: (_read_config, 0),
    5: (_read_partition_change, 2),
    9: (lambda fields, _: _ended(fields, RemoveTopicRecord(fields.uuid())), 0),
    12: (lambda fields, _: _ended(fields, FeatureLevelRecord(fields.compact_string(), fields.number(">h"))), 0),
    15: (_read_producer_ids, 0),
    17: (_read_registration_change, 3),
    20: (lambda fields, _: _ended(fields, NoOpRecord()), 0),
    28: (lambda fields, _: _ended(fields, ClearElrRecord(fields.compact_string())), 0),
}
"""{API key: reader, newest version}"""
