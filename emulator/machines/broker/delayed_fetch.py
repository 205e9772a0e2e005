"""A fetch that is parked until there is enough to read. Semantics 1.9.

It is read again when it is answered. From 2.1 both looking whether there is enough and reading take the lock of each of
its partitions (semantics 1.6): whoever looks waits there, be it for a partition that has nothing to do with what made
it look."""

from emulator.machines.broker.partition import Partition
from emulator.machines.broker.purgatory import Delayed
from emulator.machines.broker.reads import Reads, fence
from emulator.machines.broker.replicas import Replicas
from emulator.machines.broker.requests import Request
from protocol.ids import TopicPartition
from protocol.messages.replication import FetchPartition, FetchRequest
from protocol.work import Work


class DelayedFetch(Delayed):
    """`fetch` is what `request` asks; in `unassigned` nothing is waited for, though it is read with the rest in the end
    (DelayedFetch: an unknown offset)."""

    __slots__ = ("_fetch", "_reads", "_replicas", "_unassigned")

    def __init__(
        self,
        request: Request,
        fetch: FetchRequest,
        reads: Reads,
        replicas: Replicas,
        unassigned: frozenset[TopicPartition] = frozenset(),
    ) -> None:
        super().__init__(request)
        self._fetch = fetch
        self._unassigned = unassigned
        self._reads = reads
        self._replicas = replicas

    @property
    def waits_for(self) -> str:
        places = " ".join(f"{asked.topic}-{asked.partition}:{asked.fetch_offset}" for asked in self._fetch.partitions)
        return f"{self._fetch.min_bytes} bytes of {places}"

    def _partition(self, asked: FetchPartition) -> Partition | None:
        return self._replicas.partitions.get((asked.topic, asked.partition))

    def watch(self) -> None:
        """It is parked: whatever changes in one of its partitions makes somebody look."""
        for asked in self._fetch.partitions:
            partition = self._partition(asked)
            if partition is not None:
                partition.parked_fetches[self.number] = self

    # --- is there enough ---

    def ready(self) -> bool | Work[bool]:
        waits_for_locks = self._reads.waits_for_locks
        size_bytes = 0
        for asked in self._fetch.partitions:
            if waits_for_locks:
                partition = self._partition(asked)
                if partition is not None and partition.lock.held:
                    return self._ready_when_unlocked()
            more_bytes = self._readable(asked)
            if more_bytes is None:
                return True
            size_bytes += more_bytes
        return self._enough(size_bytes)

    def _ready_when_unlocked(self) -> Work[bool]:
        size_bytes = 0
        for asked in self._fetch.partitions:
            partition = self._partition(asked)
            if partition is not None and partition.lock.held:
                yield from partition.lock.reading()
            more_bytes = self._readable(asked)
            if more_bytes is None:
                return True
            size_bytes += more_bytes
        return self._enough(size_bytes)

    def _enough(self, size_bytes: int) -> bool:
        return size_bytes >= self._fetch.min_bytes or self._reads.owed_high_watermark(self._fetch)

    def _readable(self, asked: FetchPartition) -> int | None:
        """Bytes that wait there; None: whoever asked has to be told something else (1.9: lost leadership, fencing,
        divergence)."""
        if (asked.topic, asked.partition) in self._unassigned:
            return 0
        partition = self._partition(asked)
        if partition is None or partition.log is None or not partition.leads:
            return None
        if fence(partition, asked.current_leader_epoch):
            return None
        log = partition.log
        stop = log.log_end if self._fetch.replica_id >= 0 else log.high_watermark
        if asked.fetch_offset > stop and self._fetch.replica_id >= 0:
            return None
        if asked.last_fetched_epoch >= 0:
            epoch, end = log.end_offset_for_epoch(asked.last_fetched_epoch)
            if epoch < asked.last_fetched_epoch or end < asked.fetch_offset:
                return None
        if asked.fetch_offset >= stop:
            return 0
        return min(asked.max_bytes, log.bytes_between(asked.fetch_offset, stop))

    # --- answering ---

    def complete(self) -> Work[None]:
        for asked in self._fetch.partitions:
            partition = self._partition(asked)
            if partition is not None:
                partition.parked_fetches.pop(self.number, None)
        assert self.request is not None
        reads = yield from self._reads.of(self._fetch, self.request.version)
        self._reads.answer(self.request, reads)

    def expire(self) -> Work[None]:
        return self.complete()
