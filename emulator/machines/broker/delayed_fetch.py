"""A fetch that is parked until there is enough to read. Semantics 1.9.

The broker reads again for the response. From 2.1 both the check for enough data and the read take the lock of each
of its partitions (semantics 1.6). So the checking thread waits there, even for a partition unrelated to the check's
cause.
"""

from emulator.machines.broker.fetch_reads import Reads, fence
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.purgatory import Delayed
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.request_channel import Request
from protocol.ids import TopicPartition
from protocol.messages.replication_messages import READ_COMMITTED, FetchPartition, FetchRequest
from protocol.work import Work


class DelayedFetch(Delayed):
    """A delayed fetch.

    `fetch` is the body of `request`. Partitions in `unread` count as empty, though they are part of the final read
    (DelayedFetch: an unknown offset).
    """

    __slots__ = ("_fetch", "_leader_alone", "_reads", "_replicas", "_unread")

    def __init__(
        self,
        request: Request,
        fetch: FetchRequest,
        reads: Reads,
        replicas: Replicas,
        unread: frozenset[TopicPartition] = frozenset(),
    ) -> None:
        super().__init__(request)
        self._fetch = fetch
        self._unread = unread
        self._leader_alone = reads.reads_leader_alone(fetch, request.version)
        self._reads = reads
        self._replicas = replicas

    @property
    def waits_for(self) -> str:
        places = " ".join(f"{entry.topic}-{entry.partition}:{entry.fetch_offset}" for entry in self._fetch.partitions)
        return f"{self._fetch.min_bytes} bytes of {places}"

    def _partition(self, entry: FetchPartition) -> Partition | None:
        return self._replicas.partitions.get((entry.topic, entry.partition))

    def watch(self) -> None:
        """Register with its partitions: each change there causes a check."""
        for entry in self._fetch.partitions:
            partition = self._partition(entry)
            if partition is not None:
                partition.parked_fetches[self.number] = self

    # --- is there enough ---

    def ready(self) -> bool | Work[bool]:
        partitions, waits_for_locks = self._replicas.partitions, self._reads.waits_for_locks
        size_bytes = 0
        for entry in self._fetch.partitions:
            partition = partitions.get((entry.topic, entry.partition))
            if waits_for_locks and partition is not None and partition.lock.held:
                return self._ready_when_unlocked()
            more_bytes = self._readable(entry, partition)
            if more_bytes is None:
                return True
            size_bytes += more_bytes
        return size_bytes >= self._fetch.min_bytes or self._reads.owed_high_watermark(self._fetch)

    def _ready_when_unlocked(self) -> Work[bool]:
        size_bytes = 0
        for entry in self._fetch.partitions:
            partition = self._partition(entry)
            if partition is not None and partition.lock.held:
                yield from partition.lock.reading()
                partition = self._partition(entry)
            more_bytes = self._readable(entry, partition)
            if more_bytes is None:
                return True
            size_bytes += more_bytes
        return size_bytes >= self._fetch.min_bytes or self._reads.owed_high_watermark(self._fetch)

    def _readable(self, entry: FetchPartition, partition: Partition | None) -> int | None:
        """Readable bytes; None: a response is due at once (1.9: not leader, fenced, diverging)."""
        if self._unread and (entry.topic, entry.partition) in self._unread:
            return 0
        if partition is None or partition.log is None or (self._leader_alone and not partition.leads):
            return None
        if entry.current_leader_epoch != partition.leader_epoch and fence(partition, entry.current_leader_epoch):
            return None
        log = partition.log
        if self._fetch.replica_id >= 0:
            stop = log.log_end
        else:
            committed = self._fetch.isolation == READ_COMMITTED
            stop = log.last_stable_offset() if committed else log.high_watermark
        if entry.fetch_offset > stop and self._fetch.replica_id >= 0:
            return None
        if entry.last_fetched_epoch >= 0:
            epoch, end = log.epochs.end_offset_for(entry.last_fetched_epoch, log.log_end)
            if epoch < entry.last_fetched_epoch or end < entry.fetch_offset:
                return None
        if entry.fetch_offset >= stop:
            return 0
        there_bytes = log.bytes_between(entry.fetch_offset, stop)
        return there_bytes if there_bytes < entry.max_bytes else entry.max_bytes

    # --- answering ---

    def complete(self) -> Work[None]:
        for entry in self._fetch.partitions:
            partition = self._partition(entry)
            if partition is not None:
                partition.parked_fetches.pop(self.number, None)
        assert self.request is not None
        reads = yield from self._reads.of(self._fetch, self.request.version)
        self._reads.answer(self.request, reads)

    def expire(self) -> Work[None]:
        return self.complete()
