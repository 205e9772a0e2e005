"""Sends that cannot join a batch yet (no memory, or no metadata), in their order.

Kafka blocks the calling thread for `max.block.ms`; here the call returns and the record waits in this queue. Only a
caller that ignores `blocked` reaches the queue's bound.
"""

from collections import deque

import msgspec

from emulator.machines.client.accumulator import Accumulator
from emulator.machines.client.blocked_send import BlockedSend, ProducerFull
from emulator.machines.client.client_metadata import MetadataCache
from emulator.machines.client.deadlines import NEVER, is_due
from emulator.machines.client.partitioner import Partitioner
from protocol.machine import Now

ANY_PARTITION = -1
"""Partition that the partitioner chooses."""
BLOCKED_MAX = 10_000
"""Bound of waiting sends."""


def _placed(
    send: BlockedSend, metadata: MetadataCache, accumulator: Accumulator, partitioner: Partitioner
) -> BlockedSend:
    """The send with its partition, once the topic is known."""
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
    """Queue of blocked sends. `owner` names it in the error."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._queue: deque[BlockedSend] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def require_room(self) -> None:
        """Raises ProducerFull if the queue is full."""
        if len(self._queue) >= BLOCKED_MAX:
            raise ProducerFull(f"{self._owner}: {BLOCKED_MAX} sends are blocked; wait while `blocked`")

    def add(self, send: BlockedSend) -> None:
        self._queue.append(send)

    def admit(self, now: Now, metadata: MetadataCache, accumulator: Accumulator, partitioner: Partitioner) -> None:
        """Admit sends in order; while the first waits for memory, no batch lingers."""
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
        """Remove and return the sends that waited `max.block.ms`."""
        result = []
        while self._queue and is_due(now, self._queue[0].deadline_ms):
            result.append(self._queue.popleft())
        return result

    def take_all(self) -> list[BlockedSend]:
        """Remove and return all sends."""
        result = list(self._queue)
        self._queue.clear()
        return result

    def next_at_ms(self) -> float:
        """Time of the next expiry (mono_ms)."""
        return self._queue[0].deadline_ms if self._queue else NEVER
