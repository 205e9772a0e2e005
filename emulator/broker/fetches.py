"""Fetch, as the leader answers it: followers read to the log end, consumers to the high watermark. Semantics 1.2, 1.9.

A follower's fetch at offset f also *says* something: that it holds everything below f. The order matters: the high
watermark is noted before that news is used, so an answer given at once carries the old one.
"""

from collections.abc import Callable
from functools import partial

from emulator.broker.context import BrokerContext
from emulator.broker.isr_changes import IsrChanges
from emulator.broker.parked import Parked, Purgatory
from emulator.broker.partition import Partition
from emulator.broker.replicas import Replicas
from emulator.storage.files import StorageError
from protocol.errors import ErrorCode
from protocol.events import FetchOutOfRange
from protocol.messages.base import Message
from protocol.messages.replication import (
    DivergingEpoch,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)

Reply = Callable[[Message | None], None]


class Fetches:
    """Handles Fetch requests of one broker."""

    def __init__(
        self,
        context: BrokerContext,
        replicas: Replicas,
        isr_changes: IsrChanges,
        fetches: Purgatory,
        produces: Purgatory,
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._isr_changes = isr_changes
        self._fetches = fetches
        self._produces = produces

    def fetch(self, request: FetchRequest, reply: Reply, correlation: int) -> None:
        """Read, note the follower's progress, answer or park. `correlation`: of the request, for events.

        Up to 2.0 reading needs no lock: a follower's position is known at once, and only joining the ISR, the high
        watermark and the answer wait for a partition that is locked (semantics 1.6).
        """
        self._fetch(request, reply, correlation, self._context.now.mono_ms)

    def _fetch(self, request: FetchRequest, reply: Reply, correlation: int, arrived_ms: float) -> None:
        if self._context.gates.fetch_blocks_on_partition_lock:
            locked = self._replicas.first_locked((p.topic, p.partition) for p in request.partitions)
            if locked is not None:
                locked.when_unlocked(lambda: self._fetch(request, reply, correlation, arrived_ms))
                return
        results, log_ends = self._read(request)
        if request.replica_id < 0:
            self._answer_or_park(request, results, reply)
            return
        self._tell_out_of_range(request, results, correlation)
        progress = list(zip(request.partitions, results, log_ends, strict=True))
        self._note_progress(
            request.replica_id, progress, arrived_ms, lambda: self._answer_or_park(request, results, reply)
        )

    # --- reading ---

    def _read(self, request: FetchRequest) -> tuple[list[FetchedPartition], list[int]]:
        """Answers as of now, and each partition's log end at the moment of the read (-1 with an error)."""
        results: list[FetchedPartition] = []
        log_ends: list[int] = []
        left_bytes = request.max_bytes
        for asked in request.partitions:
            result, log_end = self._read_one(
                request.replica_id, asked, left_bytes, first=not any(r.records for r in results)
            )
            left_bytes = max(0, left_bytes - len(result.records))
            results.append(result)
            log_ends.append(log_end)
        return results, log_ends

    def _tell_out_of_range(self, request: FetchRequest, results: list[FetchedPartition], correlation: int) -> None:
        """An event for every offset of a follower that this leader does not have."""
        for asked, result in zip(request.partitions, results, strict=True):
            place = (asked.topic, asked.partition)
            partition = self._replicas.partitions.get(place)  # None: a read after this found its log directory failed
            if result.error == ErrorCode.OFFSET_OUT_OF_RANGE and partition is not None:
                ends = (partition.the_log.log_start, partition.the_log.log_end)
                self._context.emit(FetchOutOfRange(*place, request.replica_id, asked.fetch_offset, *ends, correlation))

    def _read_one(
        self, replica_id: int, asked: FetchPartition, left_bytes: int, *, first: bool
    ) -> tuple[FetchedPartition, int]:
        place = (asked.topic, asked.partition)
        partition = self._replicas.partitions.get(place)
        if partition is None:
            return FetchedPartition(*place, self._replicas.error_of_stranger(place)), -1
        error = fence(partition, asked.current_leader_epoch)
        if error == ErrorCode.NONE and not partition.leads:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if error == ErrorCode.NONE and replica_id >= 0 and replica_id not in partition.remotes:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if error != ErrorCode.NONE:
            return FetchedPartition(*place, error), -1
        log = partition.the_log
        high_watermark, log_end = log.high_watermark, log.log_end
        if asked.last_fetched_epoch >= 0:
            epoch, end = log.end_offset_for_epoch(asked.last_fetched_epoch)
            if (epoch, end) == (-1, -1):
                return FetchedPartition(*place, ErrorCode.OFFSET_OUT_OF_RANGE), -1
            if epoch < asked.last_fetched_epoch or end < asked.fetch_offset:
                answer = FetchedPartition(
                    *place, ErrorCode.NONE, high_watermark, log.log_start, DivergingEpoch(epoch, end)
                )
                return answer, log_end
        if not log.log_start <= asked.fetch_offset <= log_end:
            return FetchedPartition(*place, ErrorCode.OFFSET_OUT_OF_RANGE), -1
        stop = log_end if replica_id >= 0 else high_watermark
        records = b""
        if asked.fetch_offset < stop and (left_bytes > 0 or first):
            try:
                records = log.read(asked.fetch_offset, stop, min(asked.max_bytes, left_bytes), at_least_one=first)
            except StorageError as failure:
                self._replicas.storage_failed(failure)
                return FetchedPartition(*place, ErrorCode.KAFKA_STORAGE_ERROR), -1
        return FetchedPartition(*place, ErrorCode.NONE, high_watermark, log.log_start, None, records), log_end

    # --- what a follower's fetch says ---

    def _note_progress(
        self,
        follower: int,
        progress: list[tuple[FetchPartition, FetchedPartition, int]],
        arrived_ms: float,
        then: Callable[[], None],
    ) -> None:
        """Partition by partition; one that is locked, or whose ISR grows by a write to the session service, holds up
        the rest, and the answer."""
        for index, (asked, result, log_end) in enumerate(progress):
            partition = self._replicas.partitions.get((asked.topic, asked.partition))
            if partition is None or not partition.leads or follower not in partition.remotes:
                continue
            if result.error != ErrorCode.NONE:
                if not self._context.gates.failed_reads_keep_follower_state:
                    partition.remotes[follower].read_failed()
                continue
            if result.diverging_epoch is not None:
                continue
            before = partition.remotes[follower].log_end
            partition.follower_fetched(follower, asked.fetch_offset, log_end, arrived_ms)
            # 2.4: only a follower that moved can move the high watermark (shows where AlterIsr shrank the ISR).
            moved = before != asked.fetch_offset or not self._context.gates.alter_isr
            if partition.locked or partition.may_join_isr(partition.remotes[follower]):
                go_on = partial(self._note_progress, follower, progress[index + 1 :], arrived_ms, then)
                self._maybe_join(partition, follower, moved, go_on)
                return
            if moved:
                self._progressed(partition)
        then()

    def _maybe_join(self, partition: Partition, follower: int, moved: bool, then: Callable[[], None]) -> None:
        """With the partition's lock: grow the ISR, advance the high watermark."""
        if partition.locked:
            partition.when_unlocked(lambda: self._maybe_join(partition, follower, moved, then))
            return

        def go_on() -> None:
            if moved:
                self._progressed(partition)
            then()

        replica = partition.remotes.get(follower)
        if replica is not None and partition.may_join_isr(replica):
            self._isr_changes.expand(partition, follower, go_on)
        else:
            go_on()

    def _progressed(self, partition: Partition) -> None:
        if partition.leads and partition.advance_high_watermark():
            partition.check_parked(self._fetches, self._produces)

    # --- answering ---

    def _answer_or_park(self, request: FetchRequest, results: list[FetchedPartition], reply: Reply) -> None:
        if self._context.gates.fetch_answer_refreshed_high_watermark:
            self._refresh_high_watermarks(results)
        size_bytes = sum(len(result.records) for result in results)
        if (
            request.max_wait_ms <= 0
            or not request.partitions
            or size_bytes >= request.min_bytes
            or any(result.error != ErrorCode.NONE or result.diverging_epoch is not None for result in results)
            or self._owed_high_watermark(request)
        ):
            self._answer(request, results, reply)
            return
        self._park(request, reply)

    def _answer(self, request: FetchRequest, results: list[FetchedPartition], reply: Reply) -> None:
        if request.replica_id >= 0:
            for result in results:
                partition = self._replicas.partitions.get((result.topic, result.partition))
                remote = partition.remotes.get(request.replica_id) if partition is not None else None
                if remote is not None and result.high_watermark >= 0:
                    remote.last_sent_high_watermark = result.high_watermark
        reply(FetchResponse(results))

    def _owed_high_watermark(self, request: FetchRequest) -> bool:
        """2.4, 2.5: the follower has not been told the present high watermark."""
        if request.replica_id < 0 or not self._context.gates.answers_at_once_when_high_watermark_moved:
            return False
        for asked in request.partitions:
            partition = self._replicas.partitions.get((asked.topic, asked.partition))
            if partition is not None and partition.leads:
                remote = partition.remotes.get(request.replica_id)
                if remote is not None and remote.last_sent_high_watermark < partition.the_log.high_watermark:
                    return True
        return False

    def _refresh_high_watermarks(self, results: list[FetchedPartition]) -> None:
        for result in results:
            partition = self._replicas.partitions.get((result.topic, result.partition))
            if result.error == ErrorCode.NONE and partition is not None and partition.leads:
                result.high_watermark = partition.the_log.high_watermark

    def _park(self, request: FetchRequest, reply: Reply) -> None:
        places = [(asked.topic, asked.partition) for asked in request.partitions]

        def forget() -> None:
            for place in places:
                partition = self._replicas.partitions.get(place)
                if partition is not None:
                    partition.parked_fetches.pop(parked.number, None)

        def answer() -> None:
            forget()
            results, _ = self._read(request)
            self._answer(request, results, reply)

        def try_complete() -> bool:
            if not self._ready(request):
                return False
            answer()
            return True

        parked = Parked(try_complete, answer)
        if not self._fetches.park(parked, request.max_wait_ms):
            return
        for place in places:
            partition = self._replicas.partitions.get(place)
            if partition is not None:
                partition.parked_fetches[parked.number] = parked

    def _ready(self, request: FetchRequest) -> bool:
        """1.9: enough bytes, lost leadership, fencing, divergence."""
        size_bytes = 0
        for asked in request.partitions:
            partition = self._replicas.partitions.get((asked.topic, asked.partition))
            if partition is None or not partition.leads:
                return True
            if fence(partition, asked.current_leader_epoch) != ErrorCode.NONE:
                return True
            log = partition.the_log
            stop = log.log_end if request.replica_id >= 0 else log.high_watermark
            if asked.fetch_offset > stop and request.replica_id >= 0:
                return True
            if asked.last_fetched_epoch >= 0:
                epoch, end = log.end_offset_for_epoch(asked.last_fetched_epoch)
                if epoch < asked.last_fetched_epoch or end < asked.fetch_offset:
                    return True
            if asked.fetch_offset < stop:
                size_bytes += min(asked.max_bytes, log.bytes_between(asked.fetch_offset, stop))
        return size_bytes >= request.min_bytes or self._owed_high_watermark(request)


def fence(partition: Partition, current_leader_epoch: int) -> ErrorCode:
    """2.2: -1 is not checked."""
    if current_leader_epoch < 0 or current_leader_epoch == partition.leader_epoch:
        return ErrorCode.NONE
    if current_leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH
