"""Operations of Kafka clients for the audit, as a broker's Kafka listener observes them.

A produce is invoked when its request arrives through the link's gate, and ends when its answer has left through it: ok,
failed, or unknown if the answer did not leave or the client had disconnected. A batch is one operation, which names its
records. A batch of many records is several operations, one behind the other (`record_values`). `read_operations` has
the reads, `offset_operations` the offsets of groups.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from emulator.machines.client.client_operations import NO_ANSWER, Operation, OperationLog
from emulator.worlds.network.kafka_listener.offset_operations import OffsetOperations, OffsetRequest, OffsetResponse
from emulator.worlds.network.kafka_listener.read_operations import ReadOperations
from protocol.errors import ErrorCode
from protocol.events import Event
from protocol.events.record_values import RECORDS_MAX, VALUES_MAX, value_bytes_max
from protocol.ids import NO_OFFSET, BrokerId, Offset
from protocol.machine import Emit
from protocol.messages.replication_messages import (
    FetchRequest,
    FetchResponse,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from protocol.outbox import Outbox
from protocol.records.compression import DECOMPRESSED_BYTES_MAX
from protocol.records.errors import TooLarge
from protocol.records.format import iter_headers
from protocol.records.types import BatchHeader
from protocol.records.value_scan import values_of

NAMED_RECORDS_MAX: Final = 16 * VALUES_MAX
"""Maximum records of a batch whose values an operation names; of a larger batch, the count."""
NAMED_BYTES_MAX: Final = 4 * 1024 * 1024
"""Maximum size of such a batch, as sent and unpacked. A larger one stays packed."""
RECORD_BYTES_MIN: Final = 7
"""Size of the smallest record. An entry that claims more records than fit is one operation."""
UNKNOWN_MS: Final = 0
"""Request timeout of a Kafka client, which its requests do not carry."""


class _Produced(msgspec.Struct):
    """Pending operation of a produced batch.

    `digest`: the batch's CRC. `delta`: records of the request before the operation's first record.
    """

    operation: Operation
    digest: int
    delta: int


class ClientObserver:
    """Records operations of all Kafka clients of one broker incarnation. `write(event, cause)`."""

    def __init__(self, node: str, incarnation: int, broker: BrokerId, write: Callable[[Event, str], None]) -> None:
        self._log = OperationLog(node, incarnation)
        self._out = Outbox()
        self._broker = broker
        self._write = write

    # --- produce ---

    def produced(self, client_id: str, acks: int, request: ProduceRequest, cause: str) -> "Producing":
        """Start the operations of a produce request that passed the gate."""
        operations = [
            [] if produced.fault else list(self._batches(client_id, acks, produced))  # no headers to read
            for produced in request.partitions
        ]
        self._tell(cause)
        return Producing(self, operations, cause)

    def _batches(self, client_id: str, acks: int, produced: ProducePartition) -> Iterator[_Produced]:
        try:
            entries = list(iter_headers(produced.records))
        except ValueError:
            return  # the broker refuses it; the bounds of its batches are unknown
        first = 0
        for position, header in entries:
            records, values = _records_of(produced.records, position, header)
            most = VALUES_MAX if values else RECORDS_MAX
            for begin in range(0, records, most):
                some = min(most, records - begin)
                operation = self._log.invoke(
                    self._out, kind="produce", topic=produced.topic, partition=produced.partition, acks=acks,
                    broker=self._broker, client=client_id, records=some,
                    values=_cut(values[begin : begin + some]) if values else (),
                )  # fmt: skip
                operation.attempt_sent(
                    self._out, broker=self._broker, timeout_ms=UNKNOWN_MS, digest=header.crc,
                    idempotent=header.producer_id >= 0,
                )  # fmt: skip
                yield _Produced(operation, header.crc, first + begin)
            first += header.record_count

    def ended(self, produced: list[_Produced], result: ProduceResult | None, cause: str) -> None:
        """End operations. `result` None: it is unknown whether the client received the response."""
        for one in produced:
            operation = one.operation
            if result is None:
                operation.attempt_ended(self._out, error=NO_ANSWER, reason="the answer did not reach the client")
                operation.end(self._out, error=NO_ANSWER, digest=one.digest)
                continue
            offset = NO_OFFSET
            if result.base_offset >= 0 and operation.acks != 0:
                offset = Offset(result.base_offset + one.delta)
            operation.attempt_ended(self._out, error=result.error, offset=offset, topic_id=result.topic_id)
            operation.end(self._out, error=result.error, offset=offset, digest=one.digest)
        self._tell(cause)

    # --- offsets of groups, reads ---

    def offsets_requested(self, client_id: str, request: OffsetRequest, cause: str) -> "OffsetCalls":
        """Start the operations of a request about a group's offsets."""
        operations = OffsetOperations(self._log, self._out, self._broker, client_id, request)
        self._tell(cause)
        return OffsetCalls(self, operations, cause)

    def reading(self) -> "Reading":
        """Operations of a new connection's reads."""
        return Reading(self, ReadOperations(self._log, self._broker))

    @contextmanager
    def written(self, cause: str) -> Iterator[Outbox]:
        """Outbox whose events are written at the block's end."""
        yield self._out
        self._tell(cause)

    def _tell(self, cause: str) -> None:
        for effect in self._out.take():
            assert isinstance(effect, Emit)
            self._write(effect.event, cause)


class Producing:
    """Operations of one produce request, one list per partition. They end once."""

    def __init__(self, observer: ClientObserver, operations: list[list[_Produced]], cause: str) -> None:
        self._observer = observer
        self._operations = operations
        self._cause = cause

    def delivered(self, answer: ProduceResponse) -> None:
        """The response has left; the client was connected."""
        for produced, result in zip(self._operations, answer.partitions, strict=True):
            self._observer.ended(produced, result, self._cause)

    def refused(self, error: ErrorCode) -> None:
        """The listener refused the request."""
        for produced in self._operations:
            self._observer.ended(produced, ProduceResult("", -1, error), self._cause)

    def lost(self) -> None:
        """It is unknown whether the client received a response."""
        for produced in self._operations:
            self._observer.ended(produced, None, self._cause)


class OffsetCalls:
    """Operations of one request about a group's offsets. They end once."""

    def __init__(self, observer: ClientObserver, operations: OffsetOperations, cause: str) -> None:
        self._observer = observer
        self._operations = operations
        self._cause = cause

    def delivered(self, answer: OffsetResponse) -> None:
        """The response has left; the client was connected."""
        with self._observer.written(self._cause) as out:
            self._operations.answered(out, answer)

    def lost(self) -> None:
        """It is unknown whether the client received a response."""
        with self._observer.written(self._cause) as out:
            self._operations.lost(out)


class Reading:
    """Read operations of one connection."""

    def __init__(self, observer: ClientObserver, operations: ReadOperations) -> None:
        self._observer = observer
        self._operations = operations
        self._cause = ""

    def delivered(self, client_id: str, request: FetchRequest, answer: FetchResponse, cause: str) -> None:
        """A fetch response has left."""
        self._cause = cause
        with self._observer.written(cause) as out:
            self._operations.answered(out, client_id, request, answer)

    def ended(self) -> None:
        """End the operations: the connection has ended."""
        with self._observer.written(self._cause) as out:
            self._operations.ended(out)


def _records_of(records: bytes, position: int, header: BatchHeader) -> tuple[int, list[bytes]]:
    """(record count of an entry, their values). No values: too many, or unreadable."""
    room_bytes = header.size_bytes if header.compression == "none" else DECOMPRESSED_BYTES_MAX
    if not 0 < header.record_count <= room_bytes // RECORD_BYTES_MIN:
        return 1, []
    if header.record_count > NAMED_RECORDS_MAX or header.size_bytes > NAMED_BYTES_MAX:
        return header.record_count, []
    try:
        values = values_of(records, position, header, limit_bytes=NAMED_BYTES_MAX)
    except TooLarge:
        return header.record_count, []
    except ValueError:
        return 1, []
    return len(values), values


def _cut(values: list[bytes]) -> list[bytes]:
    most = value_bytes_max(len(values))
    return [value[:most] for value in values]
