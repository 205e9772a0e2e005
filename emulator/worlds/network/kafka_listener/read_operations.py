"""Read operations of one Kafka client connection, one per contiguous read of a partition.

A read is contiguous while the next fetch begins right behind the last record of the last response. A fetch that begins
elsewhere (a seek, a reset, a discarded response) ends the operation and begins another. OFFSET_OUT_OF_RANGE leaves the
position, as a consumer of the emulator does. Reads from the next leader belong to another connection: Kafka's protocol
does not identify both as one consumer.
"""

from typing import Any, Final

import msgspec

from emulator.machines.client.client_operations import Operation, OperationLog
from protocol.errors import ErrorCode
from protocol.events import RecordsRead
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, BrokerId, LeaderEpoch, Offset, TopicPartition
from protocol.messages.replication_messages import READ_COMMITTED, FetchRequest, FetchResponse
from protocol.outbox import Outbox
from protocol.records.format import iter_headers

READ_MAX: Final = 10_000
"""Maximum partitions that a connection remembers; a new one replaces the oldest."""
OUT_OF_RANGE: Final = "OffsetOutOfRangeException"


class _Reading(msgspec.Struct):
    """A pending read. `offset`: the next offset of a contiguous read."""

    operation: Operation
    offset: Offset
    epoch: LeaderEpoch = EPOCH_UNKNOWN


class ReadOperations:
    """Read operations of one connection to `broker`."""

    def __init__(self, operations: OperationLog, broker: BrokerId) -> None:
        self._operations = operations
        self._broker = broker
        self._readings: dict[TopicPartition, _Reading] = {}

    def answered(self, out: Outbox, client_id: str, request: FetchRequest, answer: FetchResponse) -> None:
        """Record a fetch response that has left."""
        fetch_offsets = {(one.topic, one.partition): one.fetch_offset for one in request.partitions}
        committed = request.isolation == READ_COMMITTED
        for one in answer.partitions:
            key: TopicPartition = (one.topic, one.partition)
            if one.error == ErrorCode.NONE and one.records:
                self._read(out, self._reading(out, client_id, key, fetch_offsets[key]), one, committed=committed)
            elif one.error == ErrorCode.OFFSET_OUT_OF_RANGE:
                reading = self._reading(out, client_id, key, fetch_offsets[key])
                reading.operation.position_left(out, reading.offset, OUT_OF_RANGE, stopped=False)
                self._end(out, key)

    def ended(self, out: Outbox) -> None:
        """End all operations: the connection has ended."""
        for key in list(self._readings):
            self._end(out, key)

    def _reading(self, out: Outbox, client_id: str, key: TopicPartition, offset: Offset) -> _Reading:
        """The pending read that continues at `offset`, or a new one."""
        reading = self._readings.get(key)
        if reading is not None and reading.offset == offset:
            return reading
        if reading is not None:
            self._end(out, key)
        elif len(self._readings) >= READ_MAX:
            self._end(out, next(iter(self._readings)))
        topic, partition = key
        operation = self._operations.invoke(
            out, kind="fetch", topic=topic, partition=partition, broker=self._broker, offset=offset, client=client_id
        )
        self._readings[key] = reading = _Reading(operation, offset)
        return reading

    def _read(self, out: Outbox, reading: _Reading, one: Any, *, committed: bool) -> None:
        """Record the batches of a response, also those whose records the client drops (`committed`)."""
        stable = one.last_stable_offset if one.last_stable_offset >= 0 else one.high_watermark
        for _, header in iter_headers(one.records):
            if header.last_offset < reading.offset:
                continue
            out.emit(
                RecordsRead(
                    reading.operation.identifier, one.topic, one.partition, max(header.base_offset, reading.offset),
                    header.last_offset, header.leader_epoch, header.crc, one.high_watermark, self._broker,
                    topic_id=one.topic_id, last_stable_offset=stable if committed else NO_OFFSET,
                )
            )  # fmt: skip
            reading.offset, reading.epoch = header.next_offset, header.leader_epoch

    def _end(self, out: Outbox, key: TopicPartition) -> None:
        reading = self._readings.pop(key)
        reading.operation.end(out, error=ErrorCode.NONE, offset=reading.offset, leader_epoch=reading.epoch)
