"""DeleteRecords at a partition's leader (KIP-107). Semantics 1.10.

Kafka's ReplicaManager.deleteRecords. The leader's log begins at the offset at once. Followers learn of it by their
fetches, and confirm it by the next ones. The response waits until every replica on a live broker has confirmed, or
until the time limit.

    leader      start 5 ............................. low watermark 5: response
    follower         receives 5 in a response, begins there --next fetch has 5-->
"""

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.purgatory import Delayed
from emulator.machines.broker.replica_manager import DELETES, Replicas
from emulator.machines.broker.request_channel import Request
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
"""{index in the request: (partition, required low watermark)}"""


class RecordDeletions:
    """Handles DeleteRecords requests of one broker."""

    def __init__(self, context: BrokerContext, replicas: Replicas) -> None:
        self._context = context
        self._replicas = replicas

    def delete(self, request: Request, message: DeleteRecordsRequest) -> Work[None]:
        """Delete in each partition in turn, when its lock is free."""
        results: list[DeletedRecords] = []
        required: Required = {}
        for entry in message.partitions:
            partition = self._replicas.partitions.get((entry.topic, entry.partition))
            if partition is not None and partition.lock.held:
                yield from partition.lock.reading()
            error, offset = self._delete(entry)
            result = DeletedRecords(entry.topic, entry.partition, error)
            if not error:
                partition = self._replicas.partitions[entry.topic, entry.partition]
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

    def _delete(self, entry: DeleteRecordsPartition) -> tuple[ErrorCode, Offset]:
        """Delete in one partition: (error, required low watermark)."""
        if entry.topic == OFFSETS_TOPIC:
            return ErrorCode.INVALID_TOPIC_EXCEPTION, NO_OFFSET
        topic_partition = (entry.topic, entry.partition)
        partition = self._replicas.partitions.get(topic_partition)
        if partition is None or not partition.leads:
            return self._replicas.error_if_not_leader(topic_partition), NO_OFFSET
        log, gates = partition.the_log, self._context.gates
        policy = self._replicas.cleans_by(entry.topic)
        if DELETES not in policy and not gates.deletes_records_before_policy:
            return ErrorCode.POLICY_VIOLATION, NO_OFFSET
        offset = log.high_watermark if entry.offset == UP_TO_HIGH_WATERMARK else entry.offset
        if not 0 <= offset <= log.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE, NO_OFFSET
        self._replicas.increment_log_start(partition, Offset(offset), "requested")
        if partition.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR, NO_OFFSET
        if DELETES not in policy:
            return ErrorCode.POLICY_VIOLATION, NO_OFFSET
        return ErrorCode.NONE, Offset(offset)


class DelayedDeletion(Delayed):
    """A delayed deletion. `required`: partitions not settled; the others of `results` are."""

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
        """Register with its partitions: each change there causes a check."""
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
