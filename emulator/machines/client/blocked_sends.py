"""Sends that cannot join a batch yet: no memory, or no metadata of their partition. First come, first served.

Kafka blocks the calling thread for `max.block.ms`; here the call returns and the record waits in this queue. The
queue's own bound is hit only by a caller who goes on sending although it is told that the producer is blocked.
"""

from collections import deque

import msgspec

from emulator.machines.client.accumulator import Accumulator
from emulator.machines.client.blocked_send import BlockedSend, ProducerFull
from emulator.machines.client.deadlines import NEVER, is_due
from emulator.machines.client.metadata_cache import MetadataCache
from emulator.machines.client.partitioner import Partitioner
from protocol.machine import Now

ANY_PARTITION = -1
"""Which one the partitioner says."""
BLOCKED_MAX = 10_000
"""Sends waiting at a time."""


def _placed(
    send: BlockedSend, metadata: MetadataCache, accumulator: Accumulator, partitioner: Partitioner
) -> BlockedSend:
    """With its partition, once the topic is known."""
    topic = send.key[0]
    choices = metadata.choices(topic)
    if choices is None:
        return send
    partition = partitioner.choose(topic, send.record_key, *choices)
    if send.record_key is None and accumulator.begins_batch((topic, partition), send.value):
        partition = partitioner.batch_begins(topic, partition, *choices)
    send.operation.partition = partition
    return msgspec.structs.replace(send, key=(topic, partition))


class BlockedSends:
    """The queue. `owner` names it in the error."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._queue: deque[BlockedSend] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def require_room(self) -> None:
        """Raises ProducerFull if not one more may wait."""
        if len(self._queue) >= BLOCKED_MAX:
            raise ProducerFull(f"{self._owner}: {BLOCKED_MAX} sends are blocked already")

    def add(self, send: BlockedSend) -> None:
        self._queue.append(send)

    def admit(self, now: Now, metadata: MetadataCache, accumulator: Accumulator, partitioner: Partitioner) -> None:
        """Let in what can be let in, in order; while the first waits for memory, nothing lingers."""
        accumulator.exhausted = False
        while self._queue:
            if self._queue[0].key[1] == ANY_PARTITION:
                self._queue[0] = _placed(self._queue[0], metadata, accumulator, partitioner)
            send = self._queue[0]
            if not metadata.knows(*send.key):
                metadata.request_update()
                return
            if not accumulator.append(now, send.key, send.value, send.operation, send.done, send.record_key):
                accumulator.exhausted = True
                return
            self._queue.popleft()

    def expired(self, now: Now) -> list[BlockedSend]:
        """Those that waited `max.block.ms`, taken out."""
        result = []
        while self._queue and is_due(now, self._queue[0].deadline_ms):
            result.append(self._queue.popleft())
        return result

    def take_all(self) -> list[BlockedSend]:
        """Everything, taken out."""
        result = list(self._queue)
        self._queue.clear()
        return result

    def next_at_ms(self) -> float:
        """When `expired` will next give something (mono_ms)."""
        return self._queue[0].deadline_ms if self._queue else NEVER
