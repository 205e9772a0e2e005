"""Producer state of one replica: written sequence numbers (KIP-98, semantics 6).

It is rebuilt from the batches' headers, so it survives a failover and disappears with truncated data.
"""

from collections import deque

from emulator.machines.broker.broker_state import RememberedBatch
from protocol.errors import NO_ERROR, ErrorCode
from protocol.gates import Gates
from protocol.ids import Offset
from protocol.records.types import BatchHeader

SEQUENCE_BOUND = 1 << 31
PRODUCERS_MAX = 100_000
"""Bound of producers per replica; beyond it the replica forgets the one idle longest."""


class _Producer:
    __slots__ = ("batches", "epoch")

    def __init__(self, epoch: int, remembered: int) -> None:
        self.epoch = epoch
        self.batches: deque[RememberedBatch] = deque(maxlen=remembered)


class ProducerState:
    """Producers of one replica; `check` before an append, `appended` after it."""

    __slots__ = ("_gates", "_producers")

    def __init__(self, gates: Gates) -> None:
        self._gates = gates
        self._producers: dict[int, _Producer] = {}

    def copy(self) -> "ProducerState":
        """An independent copy."""
        other = ProducerState(self._gates)
        for producer_id, producer in self._producers.items():
            known = other._producers[producer_id] = _Producer(producer.epoch, self._gates.remembered_batches)
            known.batches.extend(producer.batches)
        return other

    def check(self, header: BatchHeader) -> tuple[ErrorCode, RememberedBatch | None]:
        """Check a batch: (error, the batch already written).

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
            return ErrorCode.NONE, None
        for written in producer.batches:
            if (written.first_sequence, written.last_sequence) == (header.base_sequence, header.last_sequence):
                return NO_ERROR, written
        expected = (producer.batches[-1].last_sequence + 1) % SEQUENCE_BOUND
        if header.base_sequence != expected:
            # Also for a duplicate too old to be remembered: no version's log responds DUPLICATE_SEQUENCE_NUMBER.
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, None
        return NO_ERROR, None

    def appended(self, header: BatchHeader) -> None:
        """Remember a batch, from a producer or from the leader."""
        producer = self._producers.pop(header.producer_id, None)
        if producer is None or header.producer_epoch > producer.epoch:
            producer = _Producer(header.producer_epoch, self._gates.remembered_batches)
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
        if len(self._producers) > PRODUCERS_MAX:
            self._producers.pop(next(iter(self._producers)))

    def active(self) -> list[tuple[int, int, RememberedBatch]]:
        """Producers by id: their epochs, and the last batch of each."""
        known = sorted(self._producers.items())
        return [(producer_id, one.epoch, one.batches[-1]) for producer_id, one in known if one.batches]

    def forget_below(self, offset: Offset) -> None:
        """Forget batches that end below `offset`, and producers without another one."""
        for producer_id, producer in list(self._producers.items()):
            while producer.batches and producer.batches[0].last_offset < offset:
                producer.batches.popleft()
            if not producer.batches:
                del self._producers[producer_id]
