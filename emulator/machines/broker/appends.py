"""Produce: appends by the leader, and delayed responses. Semantics 1.8."""

from collections.abc import Callable
from itertools import accumulate
from typing import Final, NoReturn

from emulator.machines.broker.batches import (
    CorruptBatch,
    LargerThanAllowed,
    LargerThanSegment,
    Placed,
    check_first_batch,
)
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.delayed_produce import DelayedProduce, Required
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.purgatory import Purgatory
from emulator.machines.broker.replica_manager import COMPACTS, Replicas
from emulator.machines.broker.request_channel import Request
from emulator.storage.files import StorageError
from protocol.errors import NO_ERROR, ErrorCode
from protocol.ids import NO_OFFSET, Offset
from protocol.messages.replication_messages import ProducePartition, ProduceRequest, ProduceResponse, ProduceResult
from protocol.records.format import read_records
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.work import Work

ALL_IN_SYNC = -1
Appended = Callable[[list[ProduceResult]], None]
"""Callback, once, with the result of each partition."""
_COMES_WITHOUT_START: Final = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
"""Errors without the log start in the response.

Other errors carry it; an unknown producer recovers by it (semantics 11.2).
"""


class _Refused(Exception):
    """Refusal of a sound batch."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.error = error


class Appends:
    """Handles Produce requests of one broker."""

    def __init__(self, context: BrokerContext, replicas: Replicas, purgatory: Purgatory) -> None:
        self._context = context
        self._replicas = replicas
        self._purgatory = purgatory

    def produce(self, request: Request, produce: ProduceRequest) -> Work[None]:
        """Append and respond by `acks`; after a failure with acks=0 close the connection."""

        def answer(results: list[ProduceResult]) -> None:
            if produce.acks != 0:
                request.answer(ProduceResponse(results))
                return
            request.answer(None)
            if any(result.error for result in results):
                request.hang_up()

        if any(entry.topic == OFFSETS_TOPIC for entry in produce.partitions):
            # Only the coordinator writes there. Kafka refuses that partition alone and appends the others.
            answer(_all(produce, ErrorCode.INVALID_TOPIC_EXCEPTION))
            return
        yield from self.append(produce, answer, request)

    def append(self, produce: ProduceRequest, answer: Appended, request: Request | None = None) -> Work[None]:
        """Append to each partition in turn, when its lock is free; complete delayed requests.

        `request` None: the coordinator appends to its own topic.
        """
        if produce.acks not in (-1, 0, 1):
            answer(_all(produce, ErrorCode.INVALID_REQUIRED_ACKS))
            return
        last = self._context.gates.completes_delayed_requests_last
        results: list[ProduceResult] = []
        required: Required = {}
        appended: list[tuple[Partition, bool]] = []
        for entry in produce.partitions:
            partition = self._replicas.partitions.get((entry.topic, entry.partition))
            if partition is not None and partition.lock.held:
                yield from partition.lock.reading()
            result, required_offset = self._append(entry, produce.acks)
            if required_offset is not None:
                partition = self._replicas.partitions[entry.topic, entry.partition]
                required[len(results)] = (partition, required_offset)
                appended.append((partition, partition.advance_high_watermark()))
                if not last:
                    yield from self._check_parked(*appended[-1])
            results.append(result)
        if produce.acks == ALL_IN_SYNC and required:
            delayed = DelayedProduce(request, results, required, answer)
            work = self._purgatory.check(delayed)
            if work is not None:
                yield from work
            if not delayed.done and self._purgatory.park(delayed, produce.timeout_ms):
                delayed.watch()
        else:
            answer(results)
        if last:
            for partition, advanced in appended:
                yield from self._check_parked(partition, advanced)

    def _check_parked(self, partition: Partition, advanced: bool) -> Work[None]:
        """Check delayed requests: all if the high watermark advanced, else fetches."""
        if advanced:
            yield from partition.check_parked()
        elif partition.parked_fetches:
            yield from partition.check_parked_fetches()

    # --- appending ---

    def _append(self, entry: ProducePartition, acks: int) -> tuple[ProduceResult, Offset | None]:
        """Append to one partition: (result, the log end after it; None with an error)."""
        topic_partition = (entry.topic, entry.partition)
        partition = self._replicas.partitions.get(topic_partition)
        if partition is None or not partition.leads:
            return self._refused(entry, self._replicas.error_if_not_leader(topic_partition)), None
        if acks == ALL_IN_SYNC and len(partition.isr) < partition.min_isr:
            return self._refused(entry, ErrorCode.NOT_ENOUGH_REPLICAS), None
        try:
            return self._write(entry, partition)
        except CorruptBatch:
            return self._refused(entry, ErrorCode.CORRUPT_MESSAGE), None
        except LargerThanAllowed:
            return self._refused(entry, ErrorCode.MESSAGE_TOO_LARGE), None
        except LargerThanSegment:
            return self._refused(entry, ErrorCode.RECORD_LIST_TOO_LARGE), None
        except _Refused as refused:
            return self._refused(entry, refused.error), None
        except StorageError as error_:
            self._replicas.storage_failed(error_)
            return self._refused(entry, ErrorCode.KAFKA_STORAGE_ERROR), None
        finally:
            if partition.log is not None and partition.log.epochs.unreported:  # also those of a refused batch
                partition.tell_epochs()

    def _write(self, entry: ProducePartition, partition: Partition) -> tuple[ProduceResult, Offset]:
        """Validate and append, in Log.append's order: the records first, their producer last.

        Raises CorruptBatch, _Refused, LargerThanAllowed, LargerThanSegment, StorageError.
        """
        log = partition.the_log
        if entry.fault:
            self._refuse_invalid(entry, log.settings.max_message_bytes)
        placed = log.place(entry.records, partition.leader_epoch)
        self._want_keys(partition.topic, placed)
        log.make_room(placed)
        first = placed.headers[0]
        if first.producer_id >= 0:
            error, written = log.producers.check(first)
            if error:
                raise _Refused(error)
            if written is not None:
                # A retry of a batch in the log waits like the first attempt (semantics 11.1). It advances the high
                # watermark as any append does, which ends its wait when the ISR has shrunk meanwhile. Kafka compares
                # sequence numbers alone, so other records under used numbers get the same response.
                partition.answered_as_duplicate(first, written)
                return self._written(entry, partition, written.base_offset), written.last_offset + 1
        log.append(placed)
        for header in placed.headers:
            partition.appended(header, as_leader=True)
        return self._written(entry, partition, first.base_offset), log.log_end

    def _refuse_invalid(self, entry: ProducePartition, max_bytes: int) -> NoReturn:
        """Refuse an invalid entry; Kafka checks size and checksum first.

        Raises _Refused, LargerThanAllowed, CorruptBatch.
        """
        if entry.records:
            check_first_batch(entry.records, max_bytes)
        raise _Refused(self._invalid_record if entry.fault == ErrorCode.INVALID_RECORD else ErrorCode(entry.fault))

    @property
    def _invalid_record(self) -> ErrorCode:
        named = self._context.gates.invalid_record_named
        return ErrorCode.INVALID_RECORD if named else ErrorCode.CORRUPT_MESSAGE

    def _written(self, entry: ProducePartition, partition: Partition, base_offset: Offset) -> ProduceResult:
        log_start, topic_id = partition.the_log.log_start, partition.topic_id
        return ProduceResult(entry.topic, entry.partition, NO_ERROR, base_offset, log_start, topic_id)

    def _refused(self, entry: ProducePartition, error: ErrorCode) -> ProduceResult:
        """Result of a refusal. Where it carries the log start, a leader with a log refused."""
        topic_partition = (entry.topic, entry.partition)
        if error in _COMES_WITHOUT_START:
            return ProduceResult(*topic_partition, error, log_start=NO_OFFSET)
        log = self._replicas.partitions[topic_partition].the_log
        return ProduceResult(*topic_partition, error, log_start=log.log_start)

    def _want_keys(self, topic: str, placed: Placed) -> None:
        """Refuse records without a key for a compacted topic. Raises CorruptBatch, _Refused."""
        gates = self._context.gates
        if not gates.compacted_topics_need_keys or COMPACTS not in self._replicas.cleans_by(topic):
            return
        ends = accumulate(header.size_bytes for header in placed.headers)
        starts = (end - header.size_bytes for end, header in zip(ends, placed.headers, strict=True))
        try:
            keyless = any(record.key is None for start in starts for record in read_records(placed.data, start))
        except ValueError as error:
            raise CorruptBatch(str(error)) from error
        if keyless:
            raise _Refused(self._invalid_record)


def _all(produce: ProduceRequest, error: ErrorCode) -> list[ProduceResult]:
    return [ProduceResult(entry.topic, entry.partition, error, log_start=NO_OFFSET) for entry in produce.partitions]
