"""Facts about transactions: batches of producers, coordinators' records, offsets sent.

Plain data, so that a test can write it by hand.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from protocol.ids import TopicPartition
from protocol.records.format import read_records
from protocol.records.transaction_markers import decode_marker
from protocol.records.transaction_states import decode_transaction, decode_transaction_key
from protocol.records.types import BatchHeader

BatchKind = Literal["data", "commit", "abort"]
DEAD = "Dead"


class ProducerBatch(msgspec.Struct, frozen=True):
    """A batch of a transaction, or a marker, at offsets [first, last] of a log."""

    first: int
    last: int
    digest: int
    producer_id: int
    producer_epoch: int
    kind: BatchKind


class TransactionRecord(msgspec.Struct, frozen=True):
    """A record of `__transaction_state`. `partitions`: of the transaction."""

    transactional_id: str
    producer_id: int
    state: str
    partitions: tuple[TopicPartition, ...] = ()


class SentOffset(msgspec.Struct, frozen=True):
    """An offset of a group that a transaction has sent, acknowledged by the group's coordinator."""

    transaction: str
    group: str
    topic_partition: TopicPartition
    offset: int


class TransactionalBatch(msgspec.Struct, frozen=True):
    """A batch of a final leader's log, and the next marker of its producer behind it.

    `end` None: there is none. `epoch_before`: the highest epoch of its producer before it, -1 without any.
    """

    batch: ProducerBatch
    end: ProducerBatch | None
    epoch_before: int

    @property
    def is_aborted(self) -> bool:
        """Whether it has records under an ABORT marker."""
        return self.batch.kind == "data" and self.end is not None and self.end.kind == "abort"


def producer_batch(header: BatchHeader, data: bytes, position: int) -> ProducerBatch | None:
    """The transactional batch at `position`; None: it is none.

    Raises CorruptRecord, UnreadableRecord.
    """
    if not header.is_transactional:
        return None
    kind: BatchKind = "data"
    if header.is_control:
        marker = decode_marker(data, position)
        if marker is None:
            return None
        kind = "commit" if marker.commits else "abort"
    identity = header.producer_id, header.producer_epoch
    return ProducerBatch(header.base_offset, header.last_offset, header.crc, *identity, kind)


def transaction_records(header: BatchHeader, data: bytes, position: int) -> Iterator[TransactionRecord]:
    """The records of a batch of `__transaction_state`. Raises CorruptRecord, UnreadableRecord."""
    for record in read_records(data, position, header):
        transactional_id = decode_transaction_key(record.key or b"")
        if record.value is None:
            yield TransactionRecord(transactional_id, -1, DEAD)
            continue
        stored = decode_transaction(record.value)
        yield TransactionRecord(transactional_id, stored.producer_id, stored.state.text, tuple(stored.partitions))


def with_ends(log: list[ProducerBatch]) -> list[TransactionalBatch]:
    """A log's batches in order, each with the marker behind it."""
    ends: dict[int, ProducerBatch] = {}
    behind: list[ProducerBatch | None] = []
    for batch in reversed(log):
        behind.append(ends.get(batch.producer_id))
        if batch.kind != "data":
            ends[batch.producer_id] = batch
    epochs: dict[int, int] = {}
    found: list[TransactionalBatch] = []
    for batch, end in zip(log, reversed(behind), strict=True):
        before = epochs.get(batch.producer_id, -1)
        found.append(TransactionalBatch(batch, end, before))
        epochs[batch.producer_id] = max(before, batch.producer_epoch)
    return found
