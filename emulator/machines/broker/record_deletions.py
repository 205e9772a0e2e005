"""DeleteRecords, as a partition's leader takes it (Kafka's ReplicaManager.deleteRecords, KIP-107). Semantics 1.10.

The leader's log begins at the offset at once; followers hear of it by their fetches, and tell by the next ones. The
answer waits until every replica whose broker lives has told, or the time is over.

    leader      start 5 ............................. low watermark 5: answered
    follower         hears 5 in an answer, begins there --next fetch says 5-->
"""

from emulator.machines.broker.context import BrokerContext
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.purgatory import Delayed
from emulator.machines.broker.replicas import DELETES, Replicas
from emulator.machines.broker.requests import Request
from protocol.errors import ErrorCode
from protocol.ids import NO_OFFSET, Offset
from protocol.messages.administration import (
    UP_TO_HIGH_WATERMARK,
    DeletedRecords,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
)
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.work import Work

Required = dict[int, tuple[Partition, Offset]]
"""{place in the request: (partition, the low watermark that it waits for)}"""


class RecordDeletions:
    """Handles DeleteRecords requests of one broker."""

    def __init__(self, context: BrokerContext, replicas: Replicas) -> None:
        self._context = context
        self._replicas = replicas

    def delete(self, request: Request, message: DeleteRecordsRequest) -> Work[None]:
        """Each partition in turn, as soon as its lock is free."""
        results: list[DeletedRecords] = []
        required: Required = {}
        for asked in message.partitions:
            partition = self._replicas.partitions.get((asked.topic, asked.partition))
            if partition is not None and partition.lock.held:
                yield from partition.lock.reading()
            error, offset = self._delete(asked)
            result = DeletedRecords(asked.topic, asked.partition, error)
            if not error:
                partition = self._replicas.partitions[asked.topic, asked.partition]
                result.low_watermark = partition.low_watermark(self._replicas.metadata.live)
                if result.low_watermark < offset:
                    result.error = ErrorCode.REQUEST_TIMED_OUT  # until it is settled
                    required[len(results)] = (partition, offset)
            results.append(result)
        if not required:
            request.answer(DeleteRecordsResponse(results))
            return
        delayed = DelayedDeletion(request, results, required, self._replicas)
        purgatory = self._replicas.deletions
        if purgatory.park(delayed, message.timeout_ms):
            delayed.watch()

    def _delete(self, asked: DeleteRecordsPartition) -> tuple[ErrorCode, Offset]:
        """(error, where the log begins then at the latest)"""
        if asked.topic == OFFSETS_TOPIC:
            return ErrorCode.INVALID_TOPIC_EXCEPTION, NO_OFFSET
        topic_partition = (asked.topic, asked.partition)
        partition = self._replicas.partitions.get(topic_partition)
        if partition is None or not partition.leads:
            return self._replicas.error_of_stranger(topic_partition), NO_OFFSET
        log, gates = partition.the_log, self._context.gates
        policy = self._replicas.cleans_by(asked.topic)
        if DELETES not in policy and not gates.deletes_records_before_policy:
            return ErrorCode.POLICY_VIOLATION, NO_OFFSET
        offset = log.high_watermark if asked.offset == UP_TO_HIGH_WATERMARK else asked.offset
        if not 0 <= offset <= log.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE, NO_OFFSET
        self._replicas.increment_log_start(partition, Offset(offset), "requested")
        if partition.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR, NO_OFFSET
        if DELETES not in policy:
            return ErrorCode.POLICY_VIOLATION, NO_OFFSET
        return ErrorCode.NONE, Offset(offset)


class DelayedDeletion(Delayed):
    """`required`: what is not settled; the others of `results` are."""

    __slots__ = ("_replicas", "_required", "_results")

    def __init__(
        self, request: Request, results: list[DeletedRecords], required: Required, replicas: Replicas
    ) -> None:
        super().__init__(request)
        self._results = results
        self._required = required
        self._replicas = replicas

    @property
    def waits_for(self) -> str:
        places = (f"{partition.topic}-{partition.partition}:{offset}" for partition, offset in self._required.values())
        return f"low watermarks {' '.join(places)}"

    def watch(self) -> None:
        """It is parked: whatever changes in one of its partitions makes somebody look."""
        for partition, _ in self._required.values():
            partition.parked_deletions[self.number] = self

    def ready(self) -> bool:
        for place, (partition, offset) in list(self._required.items()):
            if partition.offline:
                self._settle(place, ErrorCode.KAFKA_STORAGE_ERROR, NO_OFFSET)
            elif partition.gone:
                self._settle(place, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_OFFSET)
            elif not partition.leads:
                self._settle(place, ErrorCode.NOT_LEADER_OR_FOLLOWER, NO_OFFSET)
            else:
                low_watermark = partition.low_watermark(self._replicas.metadata.live)
                if low_watermark >= offset:
                    self._settle(place, ErrorCode.NONE, low_watermark)
        return not self._required

    def complete(self) -> None:
        self._answer()

    def expire(self) -> None:
        for place in list(self._required):
            self._settle(place, ErrorCode.REQUEST_TIMED_OUT, self._results[place].low_watermark)
        self._answer()

    def _answer(self) -> None:
        assert self.request is not None
        self.request.answer(DeleteRecordsResponse(self._results))

    def _settle(self, place: int, error: ErrorCode, low_watermark: Offset) -> None:
        self._results[place].error, self._results[place].low_watermark = error, low_watermark
        partition, _ = self._required.pop(place)
        partition.parked_deletions.pop(self.number, None)
