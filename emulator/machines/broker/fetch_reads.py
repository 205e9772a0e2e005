"""Reads of a fetch, partition by partition, and its response. Semantics 1.2, 1.9.

From 2.4 on a follower answers consumers, too (semantics 1.11): up to its own high watermark, in the leader epoch that
it follows.
"""

from typing import Final

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_state import Read
from emulator.machines.broker.leader_epochs import UNDEFINED
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.read_replica_selection import preferred_read_replica
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.request_channel import Request
from emulator.machines.broker.settings import LONG_MAX
from emulator.settings.tables.replication_settings import RACK_AWARE
from emulator.storage.files import StorageError
from protocol.errors import NO_ERROR, ErrorCode
from protocol.ids import NO_OFFSET, BrokerId, LeaderEpoch, Offset, TopicPartition
from protocol.messages.replication_messages import (
    READ_COMMITTED,
    AbortedTransaction,
    DivergingEpoch,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from protocol.work import Work

FIRST_WITH_PROGRESS = 3
"""First version of FETCH that returns at least one whole batch (KIP-74)."""
FIRST_WITH_LOG_START = 5
"""First version of FETCH with the log starts of leader and follower (KIP-107)."""
FIRST_WITH_RACK = 11
"""First version of FETCH with the consumer's rack (KIP-392)."""


class Reads:
    """Reads for Fetch requests of one broker."""

    def __init__(self, context: BrokerContext, replicas: Replicas) -> None:
        self._context = context
        self._replicas = replicas
        self.waits_for_locks: Final = context.gates.fetch_blocks_on_partition_lock
        self._selects: Final = context.settings.replica_selector_class == RACK_AWARE

    def of(self, fetch: FetchRequest, version: int) -> Work[list[Read]]:
        """Read all partitions in turn; from 2.1 each waits for its lock (semantics 1.6).

        `version`: of the request. Up to 2 each partition has its own limit, which holds for its first batch too
        (KIP-74).
        """
        reads: list[Read] = []
        limited_each = version < FIRST_WITH_PROGRESS
        left_bytes = LONG_MAX if limited_each else fetch.max_bytes
        first = not limited_each
        partitions, waits_for_locks = self._replicas.partitions, self.waits_for_locks
        leader_alone = self.reads_leader_alone(fetch, version)
        for entry in fetch.partitions:
            at_ms = self._context.now.mono_ms
            partition = partitions.get((entry.topic, entry.partition))
            if waits_for_locks and partition is not None and partition.lock.held:
                yield from partition.lock.reading()
                partition = partitions.get((entry.topic, entry.partition))
            result, leader_log_end = self._one(
                fetch, entry, partition, left_bytes, first=first, leader_alone=leader_alone
            )
            if limited_each:
                result.incomplete = self._nothing_whole(entry, result, fetch.replica_id)
            elif result.records:
                left_bytes -= len(result.records)
                first = False
            reads.append(Read(result, leader_log_end, at_ms))
        return reads

    def reads_leader_alone(self, fetch: FetchRequest, version: int) -> bool:
        """Whether only the leader answers: a follower, or a consumer's FETCH without a rack."""
        follower_answers = self._context.gates.consumers_read_from_followers
        return fetch.replica_id >= 0 or version < FIRST_WITH_RACK or not follower_answers

    def _nothing_whole(self, entry: FetchPartition, result: FetchedPartition, replica_id: BrokerId) -> bool:
        """Whether there are requested records, but their first batch does not fit."""
        partition = self._replicas.partitions.get((entry.topic, entry.partition))
        if partition is None or result.error != ErrorCode.NONE or result.records or not entry.max_bytes:
            return False
        log = partition.the_log
        stop = log.log_end if replica_id >= 0 else result.high_watermark
        return entry.fetch_offset < stop and log.bytes_between(entry.fetch_offset, stop) > 0

    def _one(
        self,
        fetch: FetchRequest,
        entry: FetchPartition,
        partition: Partition | None,
        left_bytes: int,
        *,
        first: bool,
        leader_alone: bool,
    ) -> tuple[FetchedPartition, Offset]:
        topic_partition = (entry.topic, entry.partition)
        if partition is None:
            return FetchedPartition(*topic_partition, self._absent(topic_partition, leader_alone)), NO_OFFSET
        error, log = NO_ERROR, partition.log
        if entry.current_leader_epoch != partition.leader_epoch:
            error = fence(partition, entry.current_leader_epoch)
        if not error and (log is None or (leader_alone and not partition.leads)):
            error = self._absent(topic_partition, leader_alone)
        if error or log is None:
            return FetchedPartition(*topic_partition, error), NO_OFFSET
        high_watermark, log_end = log.high_watermark, log.log_end
        if fetch.rack and not leader_alone and self._selects and partition.leads:
            live, offset = self._replicas.metadata.live, entry.fetch_offset
            preferred = preferred_read_replica(partition, live, fetch.rack, offset, self._context.gates)
            if preferred is not None:
                result = FetchedPartition(*topic_partition, NO_ERROR, high_watermark, log.log_start)
                result.preferred_replica = preferred
                return result, log_end
        if entry.last_fetched_epoch >= 0:
            epoch, end = log.epochs.end_offset_for(entry.last_fetched_epoch, log_end)
            if epoch < entry.last_fetched_epoch or end < entry.fetch_offset:
                if (epoch, end) == UNDEFINED or entry.fetch_offset < log.log_start:
                    return FetchedPartition(*topic_partition, ErrorCode.OFFSET_OUT_OF_RANGE), NO_OFFSET
                diverging = DivergingEpoch(epoch, end)
                return (
                    FetchedPartition(*topic_partition, ErrorCode.NONE, high_watermark, log.log_start, diverging),
                    log_end,
                )
        if not log.log_start <= entry.fetch_offset <= log_end:
            return FetchedPartition(*topic_partition, ErrorCode.OFFSET_OUT_OF_RANGE), NO_OFFSET
        stop, stable, committed = log_end, high_watermark, False
        if fetch.replica_id < 0:
            stable = log.last_stable_offset()
            committed = fetch.isolation == READ_COMMITTED
            stop = stable if committed else high_watermark
        above = stop < entry.fetch_offset < log_end
        if above and self._context.gates.fetch_above_high_watermark_fails:
            return FetchedPartition(*topic_partition, ErrorCode.UNKNOWN_SERVER_ERROR), NO_OFFSET
        records = b""
        if entry.fetch_offset < stop and (left_bytes > 0 or first):
            try:
                most_bytes = entry.max_bytes if entry.max_bytes < left_bytes else left_bytes
                records = log.read(entry.fetch_offset, stop, most_bytes, at_least_one=first)
            except StorageError as failure:
                self._replicas.storage_failed(failure)
                return FetchedPartition(*topic_partition, ErrorCode.KAFKA_STORAGE_ERROR), NO_OFFSET
        start, topic_id = log.log_start, self._context.topic_ids.get(topic_partition, "")
        result = FetchedPartition(entry.topic, entry.partition, NO_ERROR, high_watermark, start, None, records)
        result.topic_id = topic_id
        if stable != high_watermark:
            result.last_stable_offset = stable
        if committed and entry.fetch_offset < stop:
            aborted = log.aborted_transactions(entry.fetch_offset, records)
            result.aborted = [AbortedTransaction(one.producer_id, one.first_offset) for one in aborted]
        return result, log_end

    def _absent(self, topic_partition: TopicPartition, leader_alone: bool) -> ErrorCode:
        """Error at a broker that does not lead, or has no replica that could answer."""
        error = self._replicas.error_if_not_leader(topic_partition)
        if leader_alone or error != ErrorCode.NOT_LEADER_OR_FOLLOWER:
            return error
        absent = self._context.gates.absent_replica_is_not_available
        return ErrorCode.REPLICA_NOT_AVAILABLE if absent else error

    # --- answering ---

    def are_enough(self, fetch: FetchRequest, reads: list[Read]) -> bool:
        """Whether a response is due: enough bytes, or a result that is due at once."""
        size_bytes = 0
        for read in reads:
            result = read.result
            if result.error or result.diverging_epoch is not None:  # the response is due at once
                return True
            if result.preferred_replica >= 0 and self._context.gates.answers_at_once_with_preferred_replica:
                return True
            size_bytes += len(result.records)
        return size_bytes >= fetch.min_bytes

    def answer(self, request: Request, reads: list[Read]) -> None:
        request.answer(FetchResponse([read.result for read in reads]))

    def owe_high_watermark(self, fetch: FetchRequest, reads: list[Read]) -> bool:
        """Whether the reads have a later high watermark than the follower last received (2.4, 2.5).

        Called before this fetch is noted.
        """
        if fetch.replica_id < 0 or not self._context.gates.answers_at_once_when_high_watermark_moved:
            return False
        for read in reads:
            partition = self._replicas.partitions.get((read.result.topic, read.result.partition))
            remote = partition.remotes.get(fetch.replica_id) if partition is not None else None
            if remote is not None and remote.last_sent_high_watermark < read.result.high_watermark:
                return True
        return False

    def owed_high_watermark(self, fetch: FetchRequest) -> bool:
        """Whether the follower lacks the present high watermark (2.4, 2.5; DelayedFetch, case H)."""
        if fetch.replica_id < 0 or not self._context.gates.answers_at_once_when_high_watermark_moved:
            return False
        for entry in fetch.partitions:
            partition = self._replicas.partitions.get((entry.topic, entry.partition))
            if partition is not None and partition.leads:
                remote = partition.remotes.get(fetch.replica_id)
                if remote is not None and remote.last_sent_high_watermark < partition.the_log.high_watermark:
                    return True
        return False


def fence(partition: Partition, current_leader_epoch: LeaderEpoch) -> ErrorCode:
    """Error of a request's leader epoch (2.2); -1 is not checked."""
    if current_leader_epoch < 0 or current_leader_epoch == partition.leader_epoch:
        return ErrorCode.NONE
    if current_leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH
