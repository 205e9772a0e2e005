"""Producer state of one replica: sequence numbers and open transactions (KIP-98).

Semantics 6, 12.4.

It is rebuilt from the batches, so it survives a failover and disappears with truncated data.

    ongoing         first data record .................. no marker yet
    unreplicated    first data record ........ marker    the high watermark has not passed the marker

The last stable offset is the first offset of the oldest of both, or the high watermark.
"""

from bisect import bisect_left
from collections import deque
from typing import NamedTuple

from emulator.machines.broker.broker_state import RememberedBatch
from protocol.errors import NO_ERROR, ErrorCode
from protocol.gates import Gates
from protocol.ids import NO_OFFSET, Offset
from protocol.records.transaction_markers import Marker
from protocol.records.types import NO_SEQUENCE, NO_TIMESTAMP, TRANSACTIONAL, BatchHeader

SEQUENCE_BOUND = 1 << 31
PRODUCERS_MAX = 100_000
"""Bound of producers per replica; beyond it the replica forgets the one idle longest."""


class Aborted(NamedTuple):
    """An aborted transaction: entry of the transaction index (TransactionIndex, AbortedTxn).

    `last_offset`: of its marker. `last_stable_offset`: when the marker was appended.
    """

    producer_id: int
    first_offset: Offset
    last_offset: Offset
    last_stable_offset: Offset


class ActiveProducerState(NamedTuple):
    """A producer, for DescribeProducers; -1: none."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start: Offset


class _Verification:
    """Verification of a producer's transaction that has no batch here yet.

    `lowest_sequence`: of the batches that wait for it; a later one may not overtake them. `adds`: with transaction
    version 2. The object's identity is the guard.
    """

    __slots__ = ("adds", "epoch", "lowest_sequence")

    def __init__(self, epoch: int, sequence: int, *, adds: bool) -> None:
        self.epoch = epoch
        self.lowest_sequence = sequence
        self.adds = adds

    def takes(self, epoch: int, sequence: int) -> None:
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence


Guard = object
"""Proof of a verification, compared by identity."""


class _Producer:
    """State of a producer id. `coordinator_epoch`: of its last marker.

    `transaction_start`: of its open transaction.
    """

    __slots__ = ("batches", "coordinator_epoch", "epoch", "timestamp_ms", "transaction_start")

    def __init__(self, epoch: int, remembered: int) -> None:
        self.epoch = epoch
        self.batches: deque[RememberedBatch] = deque(maxlen=remembered)
        self.coordinator_epoch = -1
        self.transaction_start = NO_OFFSET
        self.timestamp_ms = NO_TIMESTAMP


class ProducerState:
    """Producers of one replica.

    `check` or `check_marker` before an append, `appended` or `ended` after it.
    """

    __slots__ = ("_gates", "_ongoing", "_producers", "_unreplicated", "_verifying", "aborted")

    def __init__(self, gates: Gates) -> None:
        self._gates = gates
        self._producers: dict[int, _Producer] = {}
        self._ongoing: dict[Offset, int] = {}
        """{first offset: producer id}, by offset."""
        self._verifying: dict[int, _Verification] = {}
        """{producer id: its verification}; not part of a copy."""
        self._unreplicated: dict[Offset, Offset] = {}
        """{first offset: offset of the marker}, in the markers' order."""
        self.aborted: list[Aborted] = []
        """Aborted transactions, by their markers' offsets."""

    def copy(self) -> "ProducerState":
        """An independent copy."""
        other = ProducerState(self._gates)
        for producer_id, producer in self._producers.items():
            known = other._producers[producer_id] = _Producer(producer.epoch, self._gates.remembered_batches)
            known.batches.extend(producer.batches)
            known.coordinator_epoch = producer.coordinator_epoch
            known.transaction_start = producer.transaction_start
            known.timestamp_ms = producer.timestamp_ms
        other._ongoing = dict(self._ongoing)
        other._unreplicated = dict(self._unreplicated)
        other.aborted = list(self.aborted)
        return other

    # --- checks before an append ---

    def check(self, header: BatchHeader) -> tuple[ErrorCode, RememberedBatch | None]:
        """Check a client's batch: (error, the batch already written).

        Error NONE and None: append it; NONE and a batch: a duplicate.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            if header.base_sequence != 0 and not self._gates.unknown_producer_accepted:
                named = self._gates.unknown_producer_named
                return ErrorCode.UNKNOWN_PRODUCER_ID if named else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, None
            return ErrorCode.NONE, None
        if header.producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH, None
        if header.producer_epoch > producer.epoch:
            if header.base_sequence != 0:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, None
            return self._check_transaction(producer, header), None
        for written in producer.batches:
            if (written.first_sequence, written.last_sequence) == (header.base_sequence, header.last_sequence):
                return NO_ERROR, written
        last_sequence = producer.batches[-1].last_sequence if producer.batches else NO_SEQUENCE
        if header.base_sequence != (last_sequence + 1) % SEQUENCE_BOUND:
            # Also for a duplicate too old to be remembered: no version's log responds DUPLICATE_SEQUENCE_NUMBER.
            unknown = not producer.batches and self._gates.producer_without_batches_unknown
            return ErrorCode.UNKNOWN_PRODUCER_ID if unknown else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, None
        return self._check_transaction(producer, header), None

    def _check_transaction(self, producer: _Producer, header: BatchHeader) -> ErrorCode:
        """Refuse a plain batch inside a transaction."""
        if producer.transaction_start >= 0 and not header.is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return NO_ERROR

    def check_epoch(self, producer_id: int, producer_epoch: int) -> ErrorCode:
        """Check the epoch alone, as of a coordinator's batch."""
        producer = self._producers.get(producer_id)
        fenced = producer is not None and producer_epoch < producer.epoch
        return ErrorCode.INVALID_PRODUCER_EPOCH if fenced else NO_ERROR

    def check_marker(self, producer_id: int, producer_epoch: int, coordinator_epoch: int) -> ErrorCode:
        """Check a marker's epochs (ProducerAppendInfo.appendEndTxnMarker)."""
        producer = self._producers.get(producer_id)
        if producer is None:
            return NO_ERROR
        if producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if producer.coordinator_epoch > coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return NO_ERROR

    def has_transaction(self, producer_id: int) -> bool:
        """Whether the producer has an open transaction here."""
        producer = self._producers.get(producer_id)
        return producer is not None and producer.transaction_start >= 0

    # --- verification (KIP-890) ---

    def begin_verification(self, producer_id: int, epoch: int, sequence: int, *, adds: bool) -> Guard | None:
        """Begin to verify a producer's transaction, with its batch's sequence.

        None: it is open here already.
        """
        if self._is_open(producer_id, epoch):
            return None
        known = self._verifying.get(producer_id)
        if known is None:
            known = self._verifying[producer_id] = _Verification(epoch, sequence, adds=adds)
        else:
            known.takes(epoch, sequence)
        return known

    def check_verified(self, header: BatchHeader, guard: Guard | None, *, in_order: bool) -> ErrorCode:
        """Check a transactional batch: its transaction is open here, or was verified.

        A marker ends a verification. `in_order`: no batch before it still waits for the verification.
        """
        if self._is_open(header.producer_id, header.producer_epoch):
            return NO_ERROR
        known = self._verifying.get(header.producer_id)
        if known is None or known is not guard:
            return ErrorCode.INVALID_TXN_STATE
        if in_order and header.base_sequence > known.lowest_sequence:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return NO_ERROR

    def _is_open(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer's transaction is open here; from 4.0 on, with this epoch."""
        producer = self._producers.get(producer_id)
        if producer is None or producer.transaction_start < 0:
            return False
        return not self._gates.transaction_version or producer.epoch == epoch

    # --- appends ---

    def appended(self, header: BatchHeader) -> None:
        """Remember a batch, from a producer or from the leader."""
        producer = self._producers.pop(header.producer_id, None)
        if producer is None:
            producer = _Producer(header.producer_epoch, self._gates.remembered_batches)
        elif header.producer_epoch > producer.epoch:
            producer.epoch = header.producer_epoch
            producer.batches.clear()
        self._producers[header.producer_id] = producer
        producer.batches.append(
            RememberedBatch(
                header.base_sequence,
                header.last_sequence,
                header.base_offset,
                header.last_offset,
                header.crc,
                header.max_timestamp_ms,
            )
        )
        producer.timestamp_ms = header.max_timestamp_ms
        if self._verifying:
            self._verifying.pop(header.producer_id, None)
        if header.attributes & TRANSACTIONAL and producer.transaction_start < 0:
            producer.transaction_start = header.base_offset
            self._ongoing[header.base_offset] = header.producer_id
        if len(self._producers) > PRODUCERS_MAX:
            self._forget_idle()

    def ended(self, header: BatchHeader, marker: Marker) -> None:
        """Apply a marker: the end of the producer's transaction."""
        producer = self._producers.pop(header.producer_id, None)
        if producer is None:
            producer = _Producer(header.producer_epoch, self._gates.remembered_batches)
        elif producer.epoch != header.producer_epoch:
            producer.epoch = header.producer_epoch
            producer.batches.clear()
        self._producers[header.producer_id] = producer
        verification = self._verifying.get(header.producer_id)
        if verification is not None and not (verification.adds and verification.epoch == header.producer_epoch):
            del self._verifying[header.producer_id]
        producer.coordinator_epoch = marker.coordinator_epoch
        producer.timestamp_ms = header.max_timestamp_ms
        if len(self._producers) > PRODUCERS_MAX:
            self._forget_idle()
        first = producer.transaction_start
        if first < 0:
            if not self._gates.empty_transaction_has_index_entry:
                return
            first = header.base_offset
        producer.transaction_start = NO_OFFSET
        self._ongoing.pop(first, None)
        self._unreplicated[first] = header.last_offset
        if not marker.commits:
            stable = next(iter(self._ongoing), header.next_offset)
            self.aborted.append(Aborted(header.producer_id, first, header.last_offset, stable))

    def _forget_idle(self) -> None:
        """Forget the producer that is idle longest, unless it has an open transaction."""
        for producer_id, producer in self._producers.items():
            if producer.transaction_start < 0:
                del self._producers[producer_id]
                return

    # --- reads ---

    def first_unstable(self, high_watermark: Offset) -> Offset | None:
        """First offset of the oldest transaction that is open or not surely ended.

        An ended one has its marker below the high watermark.

        Forgets ended transactions below it. None: there is none.
        """
        if self._unreplicated:
            replicated = [first for first, last in self._unreplicated.items() if last < high_watermark]
            for first in replicated:
                del self._unreplicated[first]
        ongoing = next(iter(self._ongoing), None)
        if not self._unreplicated:
            return ongoing
        ended = min(self._unreplicated)
        return ended if ongoing is None or ended < ongoing else ongoing

    def aborted_between(self, fetch_offset: Offset, upper_bound: Offset) -> list[Aborted]:
        """Aborted transactions with records in [fetch_offset, upper_bound).

        Source: TransactionIndex.collectAbortedTxns.
        """
        found: list[Aborted] = []
        begin = bisect_left(self.aborted, fetch_offset, key=lambda one: one.last_offset)
        for one in self.aborted[begin:]:
            if one.first_offset < upper_bound:
                found.append(one)
            if one.last_stable_offset >= upper_bound:
                break
        return found

    def active(self) -> list[ActiveProducerState]:
        """Producers, by id."""
        return [
            ActiveProducerState(
                producer_id,
                one.epoch,
                one.batches[-1].last_sequence if one.batches else NO_SEQUENCE,
                one.timestamp_ms,
                one.coordinator_epoch,
                one.transaction_start,
            )
            for producer_id, one in sorted(self._producers.items())
        ]

    def forget_below(self, offset: Offset) -> None:
        """Forget batches that end below `offset`, and producers without another one.

        A producer with an open transaction stays.
        """
        for producer_id, producer in list(self._producers.items()):
            while producer.batches and producer.batches[0].last_offset < offset:
                producer.batches.popleft()
            if not producer.batches and producer.transaction_start < 0:
                del self._producers[producer_id]

    def forget_aborted_below(self, offset: Offset) -> None:
        """Forget aborted transactions that end below the log's start."""
        if self.aborted and self.aborted[0].last_offset < offset:
            del self.aborted[: bisect_left(self.aborted, offset, key=lambda one: one.last_offset)]
