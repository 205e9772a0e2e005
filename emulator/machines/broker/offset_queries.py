"""Look-ups in a leader's log: end of an epoch, begin and end of the log.

OFFSET_FOR_LEADER_EPOCH: semantics 2.1, the leader's table. ListOffsets: semantics 1.9, 2.3.
"""

from collections import Counter

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.fetch_reads import fence
from emulator.machines.broker.replica_log import Log
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.request_channel import Request
from emulator.storage.files import StorageError
from protocol.errors import ErrorCode
from protocol.ids import EPOCH_UNKNOWN, LeaderEpoch, Offset, TopicPartition
from protocol.messages.replication_messages import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    READ_COMMITTED,
    EpochEnd,
    EpochRequest,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from protocol.work import Work

FIRST_WITH_NOT_AVAILABLE = 5
"""First version of LIST_OFFSETS whose clients know OFFSET_NOT_AVAILABLE (KIP-207)."""


class OffsetQueries:
    """Look-ups in logs that this broker leads.

    They respond at once, or when the partition's lock is free (semantics 1.6): epochs in every version that has
    them, offsets from 2.1.
    """

    def __init__(self, context: BrokerContext, replicas: Replicas) -> None:
        self._context = context
        self._replicas = replicas

    def epoch_ends(self, request: Request, body: OffsetForLeaderEpochRequest) -> Work[None]:
        answers: list[EpochEnd] = []
        for question in body.partitions:
            yield from self._unlocked(question.topic, question.partition)
            answers.append(self._epoch_end(question, with_epoch=request.version > 0))
        request.answer(OffsetForLeaderEpochResponse(answers))

    def offsets(self, request: Request, body: ListOffsetsRequest) -> Work[None]:
        listed: list[ListedOffset] = []
        times = Counter((one.topic, one.partition) for one in body.partitions)
        for one in body.partitions:
            if times[one.topic, one.partition] > 1:  # ListOffsetsRequest.duplicatePartitions
                listed.append(ListedOffset(one.topic, one.partition, ErrorCode.INVALID_REQUEST))
                continue
            if self._context.gates.fetch_blocks_on_partition_lock:
                yield from self._unlocked(one.topic, one.partition)
            found = self._offset(one, body)
            if found.error == ErrorCode.OFFSET_NOT_AVAILABLE and request.version < FIRST_WITH_NOT_AVAILABLE:
                found.error = ErrorCode.LEADER_NOT_AVAILABLE
            if not self._context.gates.listed_offsets_have_epochs:
                found.leader_epoch = EPOCH_UNKNOWN
            listed.append(found)
        request.answer(ListOffsetsResponse(listed))

    def _unlocked(self, topic: str, number: int) -> Work[None]:
        partition = self._replicas.partitions.get((topic, number))
        if partition is not None and partition.lock.held:
            yield from partition.lock.reading()

    def _epoch_end(self, question: EpochRequest, *, with_epoch: bool) -> EpochEnd:
        """End of an epoch, by the binary's rule; the request's version decides about the epoch."""
        topic_partition = (question.topic, question.partition)
        log, error = self._leaders_log(topic_partition, question.current_leader_epoch, for_epochs=True)
        if log is None:
            return EpochEnd(*topic_partition, error)
        epoch, end_offset = log.end_offset_for_epoch(question.leader_epoch)
        return EpochEnd(*topic_partition, ErrorCode.NONE, epoch if with_epoch else EPOCH_UNKNOWN, end_offset)

    def _offset(self, entry: ListOffsetsPartition, body: ListOffsetsRequest) -> ListedOffset:
        topic_partition = (entry.topic, entry.partition)
        log, error = self._leaders_log(topic_partition, entry.current_leader_epoch)
        if log is None:
            return ListedOffset(*topic_partition, error)
        partition = self._replicas.partitions[topic_partition]
        epoch = partition.leader_epoch
        if entry.timestamp == EARLIEST_TIMESTAMP and entry.offsets_max is None:
            return ListedOffset(*topic_partition, ErrorCode.NONE, log.log_start, log.epoch_at_start)
        if entry.offsets_max is not None:
            return self._beginnings(topic_partition, log, entry.timestamp, entry.offsets_max)
        if body.replica_id >= 0:
            return ListedOffset(*topic_partition, ErrorCode.NONE, log.log_end, epoch)
        began = partition.epoch_start
        lags = self._context.gates.offset_not_available and began is not None and log.high_watermark < began
        end = log.last_stable_offset() if body.isolation == READ_COMMITTED else log.high_watermark
        if entry.timestamp != LATEST_TIMESTAMP:
            return self._by_time(topic_partition, log, entry.timestamp, end, lags=lags)
        if lags:
            return ListedOffset(*topic_partition, ErrorCode.OFFSET_NOT_AVAILABLE)
        return ListedOffset(*topic_partition, ErrorCode.NONE, end, epoch)

    def _by_time(
        self, topic_partition: TopicPartition, log: Log, timestamp_ms: int, end: Offset, *, lags: bool
    ) -> ListedOffset:
        """First offset by time among the records readable by consumers, up to `end` (KIP-79).

        A record not found there may become readable while the high watermark `lags` behind an election.
        """
        if self._context.gates.record_magic == 0:
            return ListedOffset(*topic_partition, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
        try:
            found = log.find_by_time(timestamp_ms, end)
        except StorageError as failure:
            self._replicas.storage_failed(failure)
            return ListedOffset(*topic_partition, ErrorCode.KAFKA_STORAGE_ERROR)
        if found is None:
            return ListedOffset(*topic_partition, ErrorCode.OFFSET_NOT_AVAILABLE if lags else ErrorCode.NONE)
        record, epoch = found
        return ListedOffset(*topic_partition, ErrorCode.NONE, record.offset, epoch, record.timestamp_ms)

    def _beginnings(
        self, topic_partition: TopicPartition, log: Log, timestamp_ms: int, offsets_max: int
    ) -> ListedOffset:
        """Answer version 0 of a consumer's request: nothing above the high watermark.

        Source: KafkaApis.handleListOffsetRequestV0."""
        if offsets_max < 0:  # in Kafka a NegativeArraySizeException
            return ListedOffset(*topic_partition, ErrorCode.UNKNOWN_SERVER_ERROR)
        try:
            offsets = log.beginnings_before(timestamp_ms, self._context.now.wall_ms)[:offsets_max]
        except StorageError as failure:
            self._replicas.storage_failed(failure)
            return ListedOffset(*topic_partition, ErrorCode.KAFKA_STORAGE_ERROR)
        readable = [offset for offset in offsets if offset <= log.high_watermark]
        if len(readable) < len(offsets):
            readable.insert(0, log.high_watermark)
        return ListedOffset(*topic_partition, ErrorCode.NONE, offsets=readable)

    def _leaders_log(
        self, topic_partition: TopicPartition, current_leader_epoch: LeaderEpoch, *, for_epochs: bool = False
    ) -> tuple[Log | None, ErrorCode]:
        partition = self._replicas.partitions.get(topic_partition)
        if partition is None:
            return None, self._replicas.error_if_not_leader(topic_partition, for_epochs=for_epochs)
        error = fence(partition, current_leader_epoch)
        if error == ErrorCode.NONE and not partition.leads:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        return (partition.the_log, error) if error == ErrorCode.NONE else (None, error)
