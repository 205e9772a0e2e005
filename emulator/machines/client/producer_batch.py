"""One batch of a producer: records of one partition that travel, retry and end together."""

from collections.abc import Sequence

from emulator.machines.client.client_operations import NO_ANSWER, Operation
from emulator.machines.client.client_state import Done, Sent
from emulator.machines.client.fetched import digests
from protocol.errors import ErrorCode
from protocol.ids import NO_OFFSET, BrokerId, Offset, TopicPartition
from protocol.machine import Now
from protocol.outbox import Outbox
from protocol.records.batch import encode_batch
from protocol.records.compression import Compression
from protocol.records.format import encode
from protocol.records.types import NO_SEQUENCE, Values

_BATCH_OVERHEAD_BYTES = {0: 0, 1: 0, 2: 61}
_RECORD_OVERHEAD_BYTES = {0: 26, 1: 34, 2: 21}
"""Kafka's upper bounds of a record's size beyond its value, by magic."""


def size_bound_bytes(magic: int, value: bytes, record_key: bytes | None = None) -> int:
    """Maximum size of a batch of this one record, in bytes."""
    return _BATCH_OVERHEAD_BYTES[magic] + _RECORD_OVERHEAD_BYTES[magic] + len(value) + len(record_key or b"")


class _Entry:
    __slots__ = ("done", "operation", "record_key", "value")

    def __init__(self, value: bytes, operation: Operation, done: Done, record_key: bytes | None) -> None:
        self.value = value
        self.operation = operation
        self.done = done
        self.record_key = record_key


class ProducerBatch:
    """Records of a batch and the state of its sending.

    `waiting_since_ms`: start of its time in the queue (created, or put back for a retry). `appended_ms`: time of
    its last record. `base_sequence` is -1 until an idempotent producer first sends it. `reset`: it was renumbered
    since it last left.
    """

    __slots__ = (
        "_data",
        "_digests",
        "_entries",
        "appended_ms",
        "attempts",
        "base_sequence",
        "created_ms",
        "deadline_ms",
        "done",
        "key",
        "magic",
        "memory_bytes",
        "producer_epoch",
        "producer_id",
        "reset",
        "retried",
        "size_bytes",
        "timestamp_ms",
        "waiting_since_ms",
    )

    def __init__(self, key: TopicPartition, now: Now, magic: int, memory_bytes: int, deadline_ms: float) -> None:
        self.key = key
        self.magic = magic
        self.created_ms = self.appended_ms = now.mono_ms
        self.timestamp_ms = int(now.wall_ms)
        self.memory_bytes = memory_bytes
        self.deadline_ms = deadline_ms
        self.waiting_since_ms = now.mono_ms
        self.size_bytes = _BATCH_OVERHEAD_BYTES[magic]
        self.attempts = 0
        self.base_sequence = NO_SEQUENCE
        self.producer_id = -1
        self.producer_epoch = -1
        self.reset = False
        self.retried = False
        self.done = False
        self._entries: list[_Entry] = []
        self._data = b""
        self._digests: list[int] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def values(self) -> Values:
        entries = self._entries
        if all(entry.record_key is None for entry in entries):
            return [entry.value for entry in entries]
        return [(entry.record_key, entry.value, ()) for entry in entries]

    def has_room(self, value: bytes, batch_size: int, record_key: bytes | None = None) -> bool:
        """Whether `value` may still join. A batch that was sent once accepts no record."""
        grown = self.size_bytes + _RECORD_OVERHEAD_BYTES[self.magic] + len(value) + len(record_key or b"")
        return not self.attempts and not self._data and grown <= batch_size

    def add(self, value: bytes, operation: Operation, done: Done, record_key: bytes | None = None) -> None:
        assert not self._data, "sealed"
        self.size_bytes += _RECORD_OVERHEAD_BYTES[self.magic] + len(value) + len(record_key or b"")
        self._entries.append(_Entry(value, operation, done, record_key))

    def number(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """Set its place in the producer's sequence; drops its encoding with another place."""
        self.reset = self.base_sequence != NO_SEQUENCE
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self._data = b""

    def seal(self, compression: Compression, *, is_transactional: bool = False) -> bytes:
        """Its bytes, the same for every attempt unless it was renumbered."""
        if not self._data:
            if self.magic == 2:
                self._data = encode_batch(
                    self.values,
                    timestamp_ms=self.timestamp_ms,
                    compression=compression,
                    producer_id=self.producer_id,
                    producer_epoch=self.producer_epoch,
                    base_sequence=self.base_sequence,
                    is_transactional=is_transactional,
                )
            else:
                self._data = encode(
                    self.values, magic=self.magic, timestamp_ms=self.timestamp_ms, compression=compression
                )
            self._digests = digests(self._data, len(self._entries))
        self.reset = False
        return self._data

    def attempt_sent(self, out: Outbox, broker: BrokerId, timeout_ms: float) -> None:
        """Record a try to `broker`, with `timeout_ms` for the response."""
        self.attempts += 1
        numbered = self.producer_id >= 0
        for entry, digest in zip(self._entries, self._digests, strict=True):
            entry.operation.attempt_sent(
                out, broker=broker, timeout_ms=timeout_ms, digest=digest, idempotent=numbered
            )

    def attempt_ended(
        self, out: Outbox, *, error: int, offset: Offset = NO_OFFSET, reason: str = "", topic_id: str = ""
    ) -> None:
        """Record the end of a try: a response, or (NO_ANSWER with a reason) none."""
        for index, entry in enumerate(self._entries):
            at = offset + index if offset >= 0 else NO_OFFSET
            entry.operation.attempt_ended(out, error=error, offset=at, reason=reason, topic_id=topic_id)

    def end(self, now: Now, out: Outbox, error: int | str, offset: Offset = NO_OFFSET) -> None:
        """End the batch and call every caller's `done`, in order. A second call is a bug."""
        assert not self.done
        self.done = True
        code = error if isinstance(error, int) else NO_ANSWER
        digest_of: Sequence[int] = self._digests or [0] * len(self._entries)
        results = []
        for index, (entry, digest) in enumerate(zip(self._entries, digest_of, strict=True)):
            at = offset + index if offset >= 0 else NO_OFFSET
            outcome = entry.operation.end(out, error=code, offset=at, digest=digest)
            result = Sent(
                entry.operation.identifier,
                self.key[0],
                self.key[1],
                entry.value,
                error,
                at if at >= 0 else None,
                outcome,
            )
            results.append((entry.done, result))
        for done, result in results:
            done(now, out, result)


def succeeded(error: int) -> bool:
    """Whether an error is a success; 46 is: the broker no longer knows the old batch's offset."""
    return not error or error == ErrorCode.DUPLICATE_SEQUENCE_NUMBER
