"""Sequence numbers of an idempotent producer: numbering, and recovery after losses.

A broker accepts a batch if its first sequence follows the last one accepted from this (producer id, epoch). It
recognises a copy of one of the last batches by its numbers. So a sent batch keeps its numbers for ever, and those
behind a failed one wait. When the order is broken for good, `SequenceRecovery` selects the recovery. Source:
KIP-98, KIP-360, semantics 6.
"""

from emulator.machines.client.client_settings import SequenceRecovery
from emulator.machines.client.producer_batch import ProducerBatch
from protocol.errors import TRAITS, ErrorCode
from protocol.ids import NO_OFFSET, Offset, TopicPartition
from protocol.records.types import NO_SEQUENCE, SEQUENCE_END

_PRODUCER_EPOCH_MAX = 32_767


class _Partition:
    """Numbering of one partition.

    `in_flight`: batches with numbers that have not ended, those waiting for a retry included, in order.
    """

    __slots__ = (
        "in_flight", "last_acknowledged", "last_acknowledged_offset", "next_sequence", "producer_epoch", "producer_id",
        "unresolved_next",
    )  # fmt: skip

    def __init__(self, producer_id: int, producer_epoch: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.next_sequence = 0
        self.last_acknowledged = -1
        self.last_acknowledged_offset = NO_OFFSET
        self.in_flight: list[ProducerBatch] = []
        self.unresolved_next: int | None = None


class Sequences:
    """The producer's identity and its numbering of partitions. Without an id no batch leaves."""

    def __init__(
        self,
        recovery: SequenceRecovery,
        *,
        ignores_failures_of_old_epochs: bool = False,
        numbers_idle_partitions_on: bool = False,
        transactional: bool = False,
    ) -> None:
        """Create the numbering. A `transactional` producer never changes its identity by itself."""
        self._recovery = recovery
        self._transactional = transactional
        self._ignores_failures_of_old_epochs = ignores_failures_of_old_epochs
        self._numbers_idle_partitions_on = numbers_idle_partitions_on
        self.producer_id = -1
        self.producer_epoch = -1
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._bump_for: set[TopicPartition] = set()

    def take_identity(self, producer_id: int, producer_epoch: int) -> None:
        """Take the id of an InitProducerId response."""
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch

    def restart(self, producer_id: int, producer_epoch: int) -> None:
        """Take an identity whose numbers begin at 0 in each partition; no batch is under way."""
        self.take_identity(producer_id, producer_epoch)
        self._partitions.clear()

    def may_leave(self, batch: ProducerBatch) -> bool:
        """Whether `batch`, first of its queue, may be sent now."""
        if self.producer_id < 0:
            return False
        partition = self._partition(batch.key)
        if batch.base_sequence == NO_SEQUENCE:
            stale = (partition.producer_id, partition.producer_epoch) != (
                self.producer_id,
                self.producer_epoch,
            )
            return partition.unresolved_next is None and not (stale and partition.in_flight)
        # A retry waits for those before it: batches behind a failed one go one by one.
        return not partition.in_flight or partition.in_flight[0].base_sequence == batch.base_sequence

    def number(self, batch: ProducerBatch) -> None:
        """Number a batch that leaves for the first time."""
        if batch.base_sequence != NO_SEQUENCE:
            return
        partition = self._partition(batch.key)
        if (partition.producer_id, partition.producer_epoch) != (self.producer_id, self.producer_epoch):
            if self._numbers_idle_partitions_on:
                self._adopt(partition)
            else:
                self._restart(partition)
        batch.number(self.producer_id, self.producer_epoch, partition.next_sequence)
        partition.next_sequence = (partition.next_sequence + len(batch)) % SEQUENCE_END
        partition.in_flight.append(batch)

    def completed(self, batch: ProducerBatch, base_offset: Offset) -> None:
        """Note a stored batch (late responses to batches that were given up count, too)."""
        partition = self._partition(batch.key)
        if self._is_current(batch) or self._recovery == "bump":  # a partition may be behind the producer's epoch
            last_sequence, last_offset = _last_sequence(batch), base_offset + (len(batch) - 1)
            if last_sequence > partition.last_acknowledged:
                partition.last_acknowledged = last_sequence
            if base_offset >= 0 and last_offset > partition.last_acknowledged_offset:
                partition.last_acknowledged_offset = last_offset
        _drop(partition, batch)
        if self._numbers_idle_partitions_on and not self._is_current(batch) and not partition.in_flight:
            self._restart(partition)  # Kafka checks only here (handleCompletedBatch)

    def can_retry(self, batch: ProducerBatch, error: int, log_start: Offset) -> bool:
        """Whether to send the batch again after `error`. May schedule a new epoch, or renumber."""
        retriable = error in _RETRIABLE
        if self._recovery == "reset":
            return retriable and self._is_current(batch)
        if self._recovery == "retry" and not self._is_current(batch):
            return False
        partition = self._partition(batch.key)
        if error == ErrorCode.UNKNOWN_PRODUCER_ID:
            return self._retries_unknown_producer(batch, partition, log_start)
        if error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            is_next = batch.base_sequence - partition.last_acknowledged == 1
            if partition.unresolved_next is None and (batch.reset or not is_next):
                return True
            if self._recovery == "retry" or self._transactional:
                return False
            if partition.unresolved_next in (None, batch.base_sequence):
                self._bump_for.add(batch.key)
            return True
        return retriable

    def outlived(self, batch: ProducerBatch) -> bool:
        """Whether the batch's id is outdated and must not be retried. From 2.5 on it is retried."""
        return self._recovery != "bump" and not self._is_current(batch)

    def _retries_unknown_producer(self, batch: ProducerBatch, partition: _Partition, log_start: Offset) -> bool:
        if log_start == -1 or batch.reset:
            return True
        if self._recovery == "bump" and not self._transactional:
            self._bump_for.add(batch.key)
            return True
        if partition.last_acknowledged_offset < log_start:
            # The records that the broker forgot were deleted from the log: nothing is lost, begin again.
            self._renumber(partition)
            return True
        return False

    def failed(self, batch: ProducerBatch, error: int | str, *, may_reuse: bool) -> None:
        """Note a batch that was given up.

        `may_reuse`: its numbers go to those behind it; else they count as lost.
        """
        if batch.base_sequence == NO_SEQUENCE:
            return  # it never left
        current = self._is_current(batch)
        partition = self._partition(batch.key)
        if self._transactional:
            _drop(partition, batch)
            if error == ErrorCode.UNKNOWN_PRODUCER_ID and self._recovery == "bump":
                del self._partitions[batch.key]  # the broker has no state: the next transaction begins at 0
            elif may_reuse:
                self._close_gap(partition, batch)
        elif self._recovery == "bump":
            _drop(partition, batch)
            counts = current or not self._ignores_failures_of_old_epochs
            if counts and (may_reuse or error in _LOSSES):
                self._bump_for.add(batch.key)
        elif not current:
            _drop(partition, batch)
        elif error in _LOSSES:
            # Data was lost on the broker: the guarantees about earlier batches are void.
            self._forget()
        else:
            _drop(partition, batch)
            if may_reuse or self._recovery == "reset":
                self._close_gap(partition, batch)

    def left_unresolved(self, batch: ProducerBatch) -> None:
        """Note a sent batch that expired: whether the broker used its numbers is unknown.

        0.11 does not wait for other batches' responses.
        """
        if self._recovery == "reset" and not self._transactional:
            self._forget()
            return
        partition = self._partition(batch.key)
        after = _last_sequence(batch) + 1
        partition.unresolved_next = max(after, partition.unresolved_next or 0)

    def resolve(self) -> bool:
        """Settle what the last responses left open; call it before sending.

        Whether a transactional producer does not know the use of its numbers.
        """
        if self._transactional:
            return self._loses_numbers()
        for key, partition in self._partitions.items():
            if partition.unresolved_next is None or partition.in_flight:
                continue
            if partition.next_sequence - partition.last_acknowledged == 1:
                partition.unresolved_next = None
            elif self._recovery == "bump":
                partition.unresolved_next = None
                self._bump_for.add(key)
            else:
                self.producer_id = self.producer_epoch = -1
        if self.producer_id < 0 and self._recovery != "bump":
            self._partitions.clear()
        if self._bump_for and self.producer_id >= 0:
            self._bump()
        return False

    def _loses_numbers(self) -> bool:
        """Whether a partition's numbers stayed unresolved; up to 2.4 already if a batch expired."""
        lost = False
        for partition in self._partitions.values():
            if partition.unresolved_next is None:
                continue
            if self._recovery != "bump":
                return True
            if not partition.in_flight:
                lost |= partition.next_sequence - partition.last_acknowledged != 1
                partition.unresolved_next = None
        return lost

    def _forget(self) -> None:
        """Drop the identity: another id is needed, and begins everywhere at 0."""
        self.producer_id = self.producer_epoch = -1
        self._partitions.clear()

    def _bump(self) -> None:
        """Raise the epoch; the numbers then begin at 0 again (KIP-360)."""
        if self.producer_epoch == _PRODUCER_EPOCH_MAX:
            self.producer_id = self.producer_epoch = -1
        else:
            self.producer_epoch += 1
        for key in sorted(self._bump_for):
            partition = self._partition(key)
            self._renumber(partition)
            partition.unresolved_next = None
        self._bump_for.clear()

    def _adopt(self, partition: _Partition) -> None:
        partition.producer_id = self.producer_id
        partition.producer_epoch = self.producer_epoch

    def _restart(self, partition: _Partition) -> None:
        self._adopt(partition)
        partition.next_sequence = 0
        partition.last_acknowledged = -1

    def _renumber(self, partition: _Partition) -> None:
        """Renumber from 0 under the current identity, batches under way first."""
        self._restart(partition)
        for batch in partition.in_flight:
            batch.number(self.producer_id, self.producer_epoch, partition.next_sequence)
            partition.next_sequence += len(batch)

    def _close_gap(self, partition: _Partition, lost: ProducerBatch) -> None:
        """Give the numbers of `lost` to the batches behind it."""
        partition.next_sequence -= len(lost)
        for batch in partition.in_flight:
            if batch.base_sequence > lost.base_sequence:
                batch.number(batch.producer_id, batch.producer_epoch, batch.base_sequence - len(lost))

    def _is_current(self, batch: ProducerBatch) -> bool:
        return (batch.producer_id, batch.producer_epoch) == (self.producer_id, self.producer_epoch)

    def _partition(self, key: TopicPartition) -> _Partition:
        partition = self._partitions.get(key)
        if partition is None:
            partition = self._partitions[key] = _Partition(self.producer_id, self.producer_epoch)
        return partition


_LOSSES = frozenset((ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID))
"""Errors of lost data: Kafka's UnknownProducerIdException is an OutOfOrderSequenceException."""
_RETRIABLE = frozenset(int(code) for code, traits in TRAITS.items() if traits.retriable)


def _last_sequence(batch: ProducerBatch) -> int:
    return batch.base_sequence + len(batch) - 1


def _drop(partition: _Partition, batch: ProducerBatch) -> None:
    partition.in_flight = [each for each in partition.in_flight if each is not batch]
