"""Produce: appends by the leader, and how long their answers wait. Semantics 1.8."""

from collections.abc import Callable

from emulator.broker.context import BrokerContext
from emulator.broker.log import CorruptBatch
from emulator.broker.parked import Parked, Purgatory
from emulator.broker.partition import Partition
from emulator.broker.replicas import Replicas
from emulator.storage.files import StorageError
from protocol.errors import ErrorCode
from protocol.messages.base import Message
from protocol.messages.replication import ProducePartition, ProduceRequest, ProduceResponse, ProduceResult
from protocol.records.format import iter_headers, read_header
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.records.types import BatchHeader

ALL_IN_SYNC = -1
Reply = Callable[[Message | None], None]
"""Answers a request; None: no answer is sent, the connection is free for the next request."""


class _TooLarge(Exception):
    """A batch (before 0.11: a message) above message.max.bytes."""


class Appends:
    """Handles Produce requests of one broker."""

    def __init__(self, context: BrokerContext, replicas: Replicas, produces: Purgatory, fetches: Purgatory) -> None:
        self._context = context
        self._replicas = replicas
        self._produces = produces
        self._fetches = fetches

    def produce(self, request: ProduceRequest, reply: Reply, hang_up: Callable[[], None]) -> None:
        """Append what can be appended; answer by `acks`. `hang_up`: acks=0 failed, the connection is closed."""
        if any(asked.topic == OFFSETS_TOPIC for asked in request.partitions):
            # Only the coordinator writes there. Kafka refuses that partition alone and appends the others.
            code = ErrorCode.INVALID_TOPIC_EXCEPTION
            reply(ProduceResponse([ProduceResult(p.topic, p.partition, code) for p in request.partitions]))
            return
        self._produce(request, reply, hang_up)

    def append_internal(self, request: ProduceRequest, reply: Reply) -> None:
        """By the coordinator, to its own topic: answered whatever `acks` is."""
        assert request.acks != 0, "an append of our own is answered"
        self._produce(request, reply, lambda: None)

    def _produce(self, request: ProduceRequest, reply: Reply, hang_up: Callable[[], None]) -> None:
        locked = self._replicas.first_locked((p.topic, p.partition) for p in request.partitions)
        if locked is not None:
            locked.when_unlocked(lambda: self._produce(request, reply, hang_up))
            return
        if request.acks not in (-1, 0, 1):
            reply(
                ProduceResponse(
                    [ProduceResult(p.topic, p.partition, ErrorCode.INVALID_REQUIRED_ACKS) for p in request.partitions]
                )
            )
            return
        results: list[ProduceResult] = []
        required: dict[int, tuple[Partition, int]] = {}
        for index, asked in enumerate(request.partitions):
            result, appended = self._append(asked, request.acks)
            results.append(result)
            if appended is not None:
                required[index] = appended
        if request.acks == 0:
            reply(None)
            if any(result.error for result in results):
                hang_up()
        elif request.acks == ALL_IN_SYNC and required:
            self._await_in_sync(results, required, request.timeout_ms, reply)
        else:
            reply(ProduceResponse(results))

    # --- appending ---

    def _append(self, asked: ProducePartition, acks: int) -> tuple[ProduceResult, tuple[Partition, int] | None]:
        """(result, (partition, its log end after it))."""
        place = (asked.topic, asked.partition)
        partition = self._replicas.partitions.get(place)
        if partition is None or not partition.leads:
            return ProduceResult(*place, self._replicas.error_of_stranger(place)), None
        if acks == ALL_IN_SYNC and len(partition.isr) < partition.settings.min_insync_replicas:
            return ProduceResult(*place, ErrorCode.NOT_ENOUGH_REPLICAS), None
        try:
            sent = read_header(asked.records)
        except ValueError:
            return ProduceResult(*place, ErrorCode.CORRUPT_MESSAGE), None
        if sent.producer_id >= 0:
            error, written = partition.the_log.producers.check(sent)
            if error != ErrorCode.NONE:
                return ProduceResult(*place, error), None
            if written is not None:
                # A retry of what is in the log: it waits like the first (semantics 11.1). It moves the high watermark
                # as any append does, which is what ends it when the ISR has shrunk meanwhile.
                if partition.advance_high_watermark():
                    partition.check_parked(self._fetches, self._produces)
                return ProduceResult(*place, ErrorCode.NONE, written.base_offset), (partition, written.last_offset + 1)
        try:
            headers = self._write(partition, asked.records)
        except CorruptBatch:
            return ProduceResult(*place, ErrorCode.CORRUPT_MESSAGE), None
        except _TooLarge:
            return ProduceResult(*place, ErrorCode.MESSAGE_TOO_LARGE), None
        except StorageError as error_:
            self._replicas.storage_failed(error_)
            return ProduceResult(*place, ErrorCode.KAFKA_STORAGE_ERROR), None
        if partition.advance_high_watermark():
            partition.check_parked(self._fetches, self._produces)
        else:
            partition.check_parked_fetches(self._fetches)
        return ProduceResult(*place, ErrorCode.NONE, headers[0].base_offset), (partition, headers[-1].last_offset + 1)

    def _write(self, partition: Partition, records: bytes) -> list[BatchHeader]:
        """One batch, or the messages of an old message set one by one."""
        log = partition.the_log
        headers: list[BatchHeader] = []
        try:
            entries = list(iter_headers(records))
        except ValueError as error:
            raise CorruptBatch(str(error)) from error
        if not entries or sum(header.size_bytes for _, header in entries) != len(records):
            raise CorruptBatch(f"{len(records)} bytes that are not whole batches")
        if max(header.size_bytes for _, header in entries) > partition.settings.message_max_bytes:
            raise _TooLarge
        for position, header in entries:
            data = records if len(entries) == 1 else records[position : position + header.size_bytes]
            placed = log.append_as_leader(data, partition.leader_epoch)
            partition.appended(placed, as_leader=True)
            headers.append(placed)
        return headers

    # --- waiting for the in-sync replicas ---

    def _await_in_sync(
        self,
        results: list[ProduceResult],
        required: dict[int, tuple[Partition, int]],
        timeout_ms: float,
        reply: Reply,
    ) -> None:
        """Park until every partition's high watermark reaches its required offset, or is known not to."""
        pending = dict(required)

        def try_complete() -> bool:
            for index, (partition, offset) in list(pending.items()):
                error = self._outcome(partition, offset)
                if error is not None:
                    results[index].error = error
                    if error == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                        results[index].base_offset = -1
                    settle(index, partition)
            if pending:
                return False
            reply(ProduceResponse(results))
            return True

        def expire() -> None:
            for index, (partition, _) in list(pending.items()):
                results[index].error = ErrorCode.REQUEST_TIMED_OUT
                settle(index, partition)
            reply(ProduceResponse(results))

        def settle(index: int, partition: Partition) -> None:
            del pending[index]
            partition.parked_produces.pop(parked.number, None)

        parked = Parked(try_complete, expire)
        if try_complete():
            return
        if self._produces.park(parked, timeout_ms):
            for partition, _ in pending.values():
                partition.parked_produces[parked.number] = parked

    def _outcome(self, partition: Partition, required_offset: int) -> ErrorCode | None:
        """None while it must wait."""
        if partition.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if not partition.leads:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if partition.the_log.high_watermark < required_offset:
            return None
        if len(partition.maximal_isr) < partition.settings.min_insync_replicas:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE
