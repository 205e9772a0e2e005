"""Records of `__transaction_state`, byte for byte as Kafka's.

    key    version i16 = 0, transactional id string
    value  version i16
           0: producer id i64, producer epoch i16, time-out i32 (ms), state i8,
              partitions nullable array of (topic string, array of i32), last update i64, start i64
           1: the same, flexible (KIP-890)

No value: the id is forgotten. The last record of a key counts. The partitions are null in state Empty.

Source: TransactionLog; TransactionLogKey.json, TransactionLogValue.json.
"""

import struct
from collections.abc import Sequence
from enum import IntEnum
from itertools import groupby
from typing import Final

import msgspec

from protocol.ids import TopicPartition
from protocol.records.compact_fields import NO_TAGS, CompactFields, compact_string, tagged, uvarint
from protocol.records.schema_fields import Fields, UnreadableRecord, string

TRANSACTIONS_TOPIC: Final = "__transaction_state"

KEY_VERSION: Final = 0
VALUE_VERSIONS: Final = (0, 1)
_CLIENT_VERSION_TAG: Final = 2
PARTITIONS_MAX: Final = 100_000
"""Bound of the partitions of one transaction."""


class TransactionState(IntEnum):
    """State of a transactional id, with its number in the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7
    """In memory alone."""

    @property
    def text(self) -> str:
        """Kafka's name."""
        return "".join(word.capitalize() for word in self.name.split("_"))


LOGGED_STATES: Final = frozenset(TransactionState) - {TransactionState.PREPARE_EPOCH_FENCE}


class StoredTransaction(msgspec.Struct, frozen=True):
    """State of a transactional id as in a record. Times since 1970.

    `started_ms` -1: no transaction.

    `client_version`: `transaction.version` of the client of the last end (KIP-890).
    """

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: tuple[TopicPartition, ...] = ()
    updated_ms: int = -1
    started_ms: int = -1
    client_version: int = 0


def encode_transaction_key(transactional_id: str) -> bytes:
    """A key's bytes. Raises ValueError for an id above the limit of a string."""
    return struct.pack(">h", KEY_VERSION) + string(transactional_id)


def encode_transaction(stored: StoredTransaction, version: int) -> bytes:
    """A value's bytes. Raises ValueError for a topic above the limit of a string."""
    assert version in VALUE_VERSIONS, f"value version {version}"
    head = struct.pack(
        ">hqhib", version, stored.producer_id, stored.producer_epoch, stored.timeout_ms, stored.state
    )
    topics = [(topic, [number for _, number in group]) for topic, group in _by_topic(stored.partitions)]
    tail = struct.pack(">qq", stored.updated_ms, stored.started_ms)
    if version == 0:
        if stored.state == TransactionState.EMPTY:
            return head + struct.pack(">i", -1) + tail
        parts = [struct.pack(">i", len(topics))]
        for topic, numbers in topics:
            parts += [string(topic), struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
        return head + b"".join(parts) + tail
    if stored.state == TransactionState.EMPTY:
        parts = [uvarint(0)]
    else:
        parts = [uvarint(len(topics) + 1)]
        for topic, numbers in topics:
            listed = uvarint(len(numbers) + 1) + struct.pack(f">{len(numbers)}i", *numbers)
            parts += [compact_string(topic), listed, NO_TAGS]
    client = struct.pack(">h", stored.client_version) if stored.client_version else None
    return head + b"".join(parts) + tail + tagged((_CLIENT_VERSION_TAG, client))


def _by_topic(partitions: Sequence[TopicPartition]) -> "groupby[str, TopicPartition]":
    return groupby(sorted(partitions), key=lambda topic_partition: topic_partition[0])


def decode_transaction_key(data: bytes) -> str:
    """A transactional id from its key. Raises UnreadableRecord."""
    fields = Fields(data, "a transaction's key")
    version = fields.number(">h")
    if version != KEY_VERSION:
        raise UnreadableRecord(f"a transaction's key version {version}; known is {KEY_VERSION}")
    transactional_id = fields.string()
    fields.end()
    return transactional_id


def decode_transaction(data: bytes) -> StoredTransaction:
    """A value from its bytes. Raises UnreadableRecord."""
    fields = CompactFields(data, "a transaction's value")
    version = fields.number(">h")
    if version not in VALUE_VERSIONS:
        raise UnreadableRecord(f"a transaction's value version {version}; known are 0 and 1")
    producer_id, epoch, timeout_ms = fields.number(">q"), fields.number(">h"), fields.number(">i")
    state = fields.number(">b")
    if state not in LOGGED_STATES:
        raise UnreadableRecord(f"a transaction's value: state {state}; known are 0 to {TransactionState.DEAD}")
    partitions = _partitions(fields) if version == 0 else _compact_partitions(fields)
    updated_ms, started_ms = fields.number(">q"), fields.number(">q")
    found: list[int] = []
    if version >= 1:
        fields.tagged({_CLIENT_VERSION_TAG: lambda field: found.append(field.number(">h"))})
    fields.end()
    client_version = found[0] if found else 0
    return StoredTransaction(
        producer_id, epoch, timeout_ms, TransactionState(state), partitions, updated_ms, started_ms, client_version
    )


def _partitions(fields: Fields) -> tuple[TopicPartition, ...]:
    found: list[TopicPartition] = []
    for _ in range(_bounded(fields.number(">i"))):
        topic = fields.string()
        found += [(topic, fields.number(">i")) for _ in range(_bounded(fields.number(">i")))]
    return tuple(found)


def _compact_partitions(fields: CompactFields) -> tuple[TopicPartition, ...]:
    found: list[TopicPartition] = []
    for _ in range(_bounded(fields.count())):
        topic = fields.compact_string()
        found += [(topic, fields.number(">i")) for _ in range(_bounded(fields.count()))]
        fields.tagged({})
    return tuple(found)


def _bounded(count: int) -> int:
    if count > PARTITIONS_MAX:
        raise UnreadableRecord(f"a transaction's value: {count} entries; at most {PARTITIONS_MAX}")
    return max(count, 0)
