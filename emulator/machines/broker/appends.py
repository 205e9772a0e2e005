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
from emulator.machines.broker.coordinator_lookup import INTERNAL_TOPICS
from emulator.machines.broker.delayed_produce import DelayedProduce, Required
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.producer_state import Guard
from emulator.machines.broker.purgatory import Purgatory
from emulator.machines.broker.replica_log import Log
from emulator.machines.broker.replica_manager import COMPACTS, Replicas
from emulator.machines.broker.request_channel import Request
from emulator.machines.broker.transaction_verification import (
    Errors,
    Subject,
    TransactionVerification,
    error_of_produce,
)
from emulator.storage.files import StorageError
from protocol.errors import NO_ERROR, ErrorCode
from protocol.ids import NO_OFFSET, Offset, TopicPartition
from protocol.messages.replication_messages import ProducePartition, ProduceRequest, ProduceResponse, ProduceResult
from protocol.records.format import read_header, read_records
from protocol.records.transaction_markers import decode_marker
from protocol.records.types import BatchHeader
from protocol.work import Work

ALL_IN_SYNC = -1
FIRST_WITH_ABORTABLE: Final = 11
"""First version of Produce whose clients know TRANSACTION_ABORTABLE (KIP-1050)."""
FIRST_OF_VERSION_2: Final = 12
"""First version of Produce of transaction version 2 (KIP-890)."""
VERSION_2: Final = 2
Guards = dict[TopicPartition, Guard]
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

    def __init__(
        self, context: BrokerContext, replicas: Replicas, purgatory: Purgatory, verification: TransactionVerification
    ) -> None:
        self._context = context
        self.verification = verification
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

        if any(entry.topic in INTERNAL_TOPICS for entry in produce.partitions):
            # Only coordinators write there. Kafka refuses that partition alone and appends the others.
            answer(_all(produce, ErrorCode.INVALID_TOPIC_EXCEPTION))
            return
        if produce.transactional_id is not None and self.verification.applies(of_client=True):
            yield from self._verify(produce, answer, request)
        else:
            yield from self.append(produce, answer, request)

    def _verify(self, produce: ProduceRequest, answer: Appended, request: Request) -> Work[None]:
        """Verify the transaction in partitions where it is not open, then append.

        No handler waits for that.
        """
        adds = request.version >= FIRST_OF_VERSION_2 and self._context.gates.transaction_version >= VERSION_2
        guards: Guards = {}
        header = None
        for entry in produce.partitions:
            partition = self._replicas.partitions.get((entry.topic, entry.partition))
            sent = _first_header(entry)
            if sent is None or not sent.is_transactional or partition is None or not partition.leads:
                continue  # the append refuses it
            guard = partition.the_log.producers.begin_verification(
                sent.producer_id, sent.producer_epoch, sent.base_sequence, adds=adds
            )
            if guard is not None:
                header, guards[entry.topic, entry.partition] = sent, guard
        if header is None:
            yield from self.append(produce, answer, request)
            return
        assert produce.transactional_id is not None
        abortable = request.version >= FIRST_WITH_ABORTABLE
        subject = Subject(
            produce.transactional_id, header.producer_id, header.producer_epoch, tuple(guards), adds, abortable
        )

        def verified(errors: Errors) -> None:
            work = self._append_verified(produce, answer, request, guards, errors, adds=adds)
            self._context.threads.start("request-handler", request.name, work)

        self.verification.verify(subject, verified)

    def _append_verified(
        self, produce: ProduceRequest, answer: Appended, request: Request, guards: Guards, errors: Errors, *, adds: bool
    ) -> Work[None]:
        """Append to the partitions without an error; the answer has all."""
        places = [(entry.topic, entry.partition) for entry in produce.partitions]
        fit = [entry for entry, place in zip(produce.partitions, places, strict=True) if place not in errors]
        refused = {
            place: ProduceResult(*place, error_of_produce(error, adds=adds), log_start=NO_OFFSET)
            for place, error in errors.items()
        }

        def appended(results: list[ProduceResult]) -> None:
            known = refused | {(one.topic, one.partition): one for one in results}
            answer([known[place] for place in places])

        if not fit:
            appended([])
            return
        part = ProduceRequest(produce.acks, produce.timeout_ms, fit, produce.transactional_id)
        yield from self.append(part, appended, request, guards)

    def append(
        self, produce: ProduceRequest, answer: Appended, request: Request | None = None, guards: Guards | None = None
    ) -> Work[None]:
        """Append to each partition in turn, when its lock is free; complete delayed requests.

        `request` None: a coordinator appends to its own topic, or its markers. `guards`: of verified transactions.
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
            guard = guards.get((entry.topic, entry.partition)) if guards else None
            result, required_offset = self._append(entry, produce.acks, guard, of_client=request is not None)
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

    def _append(
        self, entry: ProducePartition, acks: int, guard: Guard | None, *, of_client: bool
    ) -> tuple[ProduceResult, Offset | None]:
        """Append to one partition: (result, the log end after it; None with an error)."""
        topic_partition = (entry.topic, entry.partition)
        partition = self._replicas.partitions.get(topic_partition)
        if partition is None or not partition.leads:
            return self._refused(entry, self._replicas.error_if_not_leader(topic_partition)), None
        if acks == ALL_IN_SYNC and len(partition.isr) < partition.min_isr:
            return self._refused(entry, ErrorCode.NOT_ENOUGH_REPLICAS), None
        try:
            return self._write(entry, partition, guard, of_client=of_client)
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

    def _write(
        self, entry: ProducePartition, partition: Partition, guard: Guard | None, *, of_client: bool
    ) -> tuple[ProduceResult, Offset]:
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
            error, written = log.producers.check(first) if of_client else (self._of_coordinator(log, placed), None)
            if of_client and first.is_control:  # LogValidator.validateRecord
                error = self._invalid_record
            if error:
                raise _Refused(error)
            if written is not None:
                # A retry of a batch in the log waits like the first attempt (semantics 11.1). It advances the high
                # watermark as any append does, which ends its wait when the ISR has shrunk meanwhile. Kafka compares
                # sequence numbers alone, so other records under used numbers get the same response.
                partition.answered_as_duplicate(first, written)
                return self._written(entry, partition, written.base_offset), written.last_offset + 1
            if first.is_transactional and not first.is_control and self.verification.applies(of_client=of_client):
                missing = log.producers.check_verified(first, guard, in_order=of_client)
                if missing:
                    raise _Refused(missing)
        log.append(placed)
        for header in placed.headers:
            partition.appended(header, as_leader=True)
        return self._written(entry, partition, first.base_offset), log.log_end

    def _of_coordinator(self, log: Log, placed: Placed) -> ErrorCode:
        """Check a coordinator's batch: epochs alone (AppendOrigin.COORDINATOR)."""
        first = placed.headers[0]
        marker = decode_marker(placed.data) if first.is_control else None
        if marker is None:
            return log.producers.check_epoch(first.producer_id, first.producer_epoch)
        return log.producers.check_marker(first.producer_id, first.producer_epoch, marker.coordinator_epoch)

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


def _first_header(entry: ProducePartition) -> BatchHeader | None:
    """Header of the first batch; None: there is no whole one."""
    try:
        return read_header(entry.records)
    except ValueError:
        return None


def _all(produce: ProduceRequest, error: ErrorCode) -> list[ProduceResult]:
    return [ProduceResult(entry.topic, entry.partition, error, log_start=NO_OFFSET) for entry in produce.partitions]
