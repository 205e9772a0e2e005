"""Questions about a leader's log that are no fetch: where does an epoch end, where does the log begin and end.

OFFSET_FOR_LEADER_EPOCH: semantics 2.1, the leader's table. ListOffsets: semantics 1.9, 2.3.
"""

from emulator.broker.context import BrokerContext
from emulator.broker.fetches import fence
from emulator.broker.log import Log
from emulator.broker.replicas import Replicas
from protocol.errors import ErrorCode
from protocol.messages.replication import (
    EpochAnswer,
    EpochQuestion,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

LATEST = -1
EARLIEST = -2


class Questions:
    """Answers at once, always."""

    def __init__(self, context: BrokerContext, replicas: Replicas) -> None:
        self._context = context
        self._replicas = replicas

    def epoch_ends(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        return OffsetForLeaderEpochResponse([self._epoch_end(question) for question in request.partitions])

    def _epoch_end(self, question: EpochQuestion) -> EpochAnswer:
        place = (question.topic, question.partition)
        log, error = self._leaders_log(question.topic, question.partition, question.current_leader_epoch)
        if log is None:
            return EpochAnswer(*place, error)
        if self._context.gates.epoch_request_version == 0:
            return EpochAnswer(*place, ErrorCode.NONE, -1, self._end_by_first_rule(log, question.leader_epoch))
        return EpochAnswer(*place, ErrorCode.NONE, *log.end_offset_for_epoch(question.leader_epoch))

    @staticmethod
    def _end_by_first_rule(log: Log, epoch: int) -> int:
        """KIP-101 as first made: the start of the first later epoch."""
        entries = log.epochs.entries
        if epoch == log.epochs.latest:
            return log.log_end
        later = [start for known, start in entries if known > epoch]
        if not later or epoch < entries[0][0]:
            return -1
        return later[0]

    def offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        follower = request.replica_id >= 0
        return ListOffsetsResponse([self._offset(asked, follower=follower) for asked in request.partitions])

    def _offset(self, asked: ListOffsetsPartition, *, follower: bool) -> ListedOffset:
        place = (asked.topic, asked.partition)
        log, error = self._leaders_log(asked.topic, asked.partition, asked.current_leader_epoch)
        if log is None:
            return ListedOffset(*place, error)
        epoch = self._replicas.partitions[place].leader_epoch
        if asked.timestamp == EARLIEST:
            return ListedOffset(*place, ErrorCode.NONE, log.log_start, epoch)
        if follower:
            return ListedOffset(*place, ErrorCode.NONE, log.log_end, epoch)
        began = self._replicas.partitions[place].epoch_start
        if self._context.gates.offset_not_available and began is not None and log.high_watermark < began:
            return ListedOffset(*place, ErrorCode.OFFSET_NOT_AVAILABLE)
        return ListedOffset(*place, ErrorCode.NONE, log.high_watermark, epoch)

    def _leaders_log(self, topic: str, number: int, current_leader_epoch: int) -> tuple[Log | None, ErrorCode]:
        partition = self._replicas.partitions.get((topic, number))
        if partition is None:
            return None, self._replicas.error_of_stranger((topic, number))
        error = fence(partition, current_leader_epoch)
        if error == ErrorCode.NONE and not partition.leads:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        return (partition.the_log, error) if error == ErrorCode.NONE else (None, error)
