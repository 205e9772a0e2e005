"""Queues of a producer's batches, one per partition, all within `buffer.memory`.

A batch may leave when it is full, has waited `linger.ms`, has others behind it, or when senders wait for memory.
After a failure it may leave when `retry.backoff.ms` is over. Only the first of a queue may leave, so a batch that
backs off holds up those behind it.
"""

from collections import deque

from emulator.machines.client.client_operations import Operation
from emulator.machines.client.client_settings import ProducerSettings
from emulator.machines.client.client_state import Done
from emulator.machines.client.deadlines import NEVER, earliest_ms, is_due
from emulator.machines.client.producer_batch import ProducerBatch, size_bound_bytes
from protocol.ids import TopicPartition
from protocol.machine import Now
from protocol.records.types import NO_SEQUENCE


class Accumulator:
    """Queues of batches by partition.

    No batch of a `muted` partition leaves: it has a batch under way, and order matters.
    """

    def __init__(self, settings: ProducerSettings) -> None:
        self._settings = settings
        self._queues: dict[TopicPartition, deque[ProducerBatch]] = {}
        self.memory_used_bytes = 0
        self.muted: set[TopicPartition] = set()
        self.exhausted = False
        """Senders wait for memory: no batch lingers."""
        self.flushing = False
        """A transaction is being completed: no batch lingers."""

    def join(self, now: Now, key: TopicPartition, value: bytes, operation: Operation, done: Done) -> bool:
        """Add a record to the waiting batch, if it has room and does not become full.

        Then nothing else changes.
        """
        queue = self._queues.get(key)
        if not queue:
            return False
        batch = queue[-1]
        if not batch.has_room(value, self._settings.batch_size - 1):
            return False
        batch.add(value, operation, done)
        batch.appended_ms = now.mono_ms
        return True

    def begins_batch(self, key: TopicPartition, value: bytes) -> bool:
        """Whether a record would be the first of a batch."""
        queue = self._queues.get(key)
        return not queue or not queue[-1].has_room(value, self._settings.batch_size)

    def append(
        self,
        now: Now,
        key: TopicPartition,
        value: bytes,
        operation: Operation,
        done: Done,
        record_key: bytes | None = None,
    ) -> bool:
        """Add a record; False if a new batch is needed and there is no memory for one."""
        settings = self._settings
        queue = self._queues.setdefault(key, deque())
        if queue and queue[-1].has_room(value, settings.batch_size, record_key):
            queue[-1].add(value, operation, done, record_key)
            queue[-1].appended_ms = now.mono_ms
            return True
        memory = size_bound_bytes(settings.magic, value, record_key)
        if memory < settings.batch_size:
            memory = settings.batch_size
        if self.memory_used_bytes + memory > settings.buffer_memory:
            return False
        deadline_ms = NEVER
        if settings.delivery_timeout_ms is not None:
            deadline_ms = now.mono_ms + settings.delivery_timeout_ms
        batch = ProducerBatch(key, now, settings.magic, memory, deadline_ms)
        batch.add(value, operation, done, record_key)
        queue.append(batch)
        self.memory_used_bytes += memory
        return True

    def free(self, batch: ProducerBatch) -> None:
        """Free the memory of a batch that has ended."""
        self.memory_used_bytes -= batch.memory_bytes
        batch.memory_bytes = 0

    def waiting(self) -> list[TopicPartition]:
        """Partitions with a non-empty queue, in the order in which their queues began."""
        return [key for key, queue in self._queues.items() if queue]

    def first(self, key: TopicPartition) -> ProducerBatch:
        return self._queues[key][0]

    def sendable_at_ms(self, key: TopicPartition) -> float:
        """Time at which the first batch of a non-empty queue may leave (mono_ms).

        NEVER while the partition is muted.
        """
        if key in self.muted:
            return NEVER
        queue = self._queues[key]
        batch = queue[0]
        if batch.attempts:
            return batch.waiting_since_ms + self._settings.retry_backoff_ms
        if self._is_full(queue) or self.exhausted or self.flushing:
            return batch.waiting_since_ms
        return batch.waiting_since_ms + self._settings.linger_ms

    def take(self, key: TopicPartition) -> ProducerBatch:
        """Remove the first batch, to send it."""
        return self._queues[key].popleft()

    def take_all(self) -> list[ProducerBatch]:
        """Remove and return all batches, queue by queue."""
        batches = [batch for queue in self._queues.values() for batch in queue]
        self._queues.clear()
        return batches

    def take_unsent(self) -> list[ProducerBatch]:
        """Remove and return the batches that have no sequence: they never left."""
        unsent = []
        for queue in self._queues.values():
            unsent += [batch for batch in queue if batch.base_sequence == NO_SEQUENCE]
            kept = [batch for batch in queue if batch.base_sequence != NO_SEQUENCE]
            queue.clear()
            queue.extend(kept)
        return unsent

    def put_back(self, now: Now, batch: ProducerBatch) -> None:
        """Queue a batch for a retry: in front, or by its sequence if it has one.

        Without sequences each goes in front, as in Kafka. Of two that fail together the second is then ahead of the
        first (semantics 6, "Reordering").
        """
        batch.waiting_since_ms = now.mono_ms
        queue = self._queues[batch.key]
        if batch.base_sequence == NO_SEQUENCE:
            queue.appendleft(batch)
            return
        index = 0
        while index < len(queue) and 0 <= queue[index].base_sequence < batch.base_sequence:
            index += 1
        queue.insert(index, batch)

    def expired(self, now: Now) -> list[ProducerBatch]:
        """Remove and return the batches that waited too long.

        Since 2.1 `delivery.timeout.ms` after their creation. Before, `request.timeout.ms` after they had lingered,
        or after the last record of a full one, if that is earlier. After a failed attempt the time counts from the
        end of its pause. Batches of muted partitions do not expire then. In 0.8.2 batches never expire.
        """
        result = []
        for key, queue in self._queues.items():
            while queue and is_due(now, self._expires_at_ms(key, queue)):
                result.append(queue.popleft())
        return result

    def next_expiry_ms(self) -> float:
        """Time of the next expiry (mono_ms)."""
        return earliest_ms([self._expires_at_ms(key, queue) for key, queue in self._queues.items() if queue])

    def _expires_at_ms(self, key: TopicPartition, queue: deque[ProducerBatch]) -> float:
        batch = queue[0]
        settings = self._settings
        if settings.delivery_timeout_ms is not None:
            return batch.deadline_ms
        if key in self.muted or not settings.batches_expire:
            return NEVER
        if batch.attempts:
            return batch.waiting_since_ms + settings.retry_backoff_ms + settings.request_timeout_ms
        since_ms = batch.created_ms + settings.linger_ms
        if self._is_full(queue):
            since_ms = min(since_ms, batch.appended_ms)
        return since_ms + settings.request_timeout_ms

    def _is_full(self, queue: deque[ProducerBatch]) -> bool:
        """Whether the first batch accepts no further record."""
        return len(queue) > 1 or queue[0].size_bytes >= self._settings.batch_size
