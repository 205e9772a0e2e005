"""Fetch: followers read to the leader's log end, consumers to the high watermark.

Semantics 1.2, 1.9. A follower's fetch at offset f also reports that it holds all records below f. The order
matters: the leader reads the high watermark before it uses that report. So a response sent at once carries the old
one.
"""

from emulator.machines.broker.broker_context import BrokerContext, SessionExpired
from emulator.machines.broker.broker_state import Read
from emulator.machines.broker.delayed_fetch import DelayedFetch
from emulator.machines.broker.fetch_reads import FIRST_WITH_LOG_START, Reads
from emulator.machines.broker.isr_writes import IsrChanges
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.purgatory import Purgatory
from emulator.machines.broker.remote_replica import LONG_AGO_MS
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.request_channel import Request
from protocol.errors import ErrorCode
from protocol.events import FetchOutOfRange
from protocol.ids import NO_OFFSET, TopicPartition
from protocol.messages.replication_messages import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from protocol.work import Work


class NotAssigned(Exception):
    """A follower fetches a partition that it is not assigned to."""


class Fetches:
    """Handles Fetch requests of one broker."""

    def __init__(
        self, context: BrokerContext, replicas: Replicas, isr_changes: IsrChanges, purgatory: Purgatory
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._isr_changes = isr_changes
        self._purgatory = purgatory
        self._reads = Reads(context, replicas)

    def fetch(self, request: Request, fetch: FetchRequest) -> Work[None]:
        """Read, note the follower's progress, respond or park.

        If the session expires while a follower joins the ISR, the response is an error. Up to 2.0 reading needs no
        lock. The leader notes a follower's position at once; only joining the ISR, the high watermark and the
        response wait for a locked partition (semantics 1.6).
        """
        reads = yield from self._reads.of(fetch, request.version)
        unread: frozenset[TopicPartition] = frozenset()
        owed = self._reads.owe_high_watermark(fetch, reads)
        if fetch.replica_id >= 0:
            self._tell_out_of_range(fetch, reads, request.correlation_id)
            try:
                unread = yield from self._note_progress(fetch, reads, request.version >= FIRST_WITH_LOG_START)
            except (SessionExpired, NotAssigned):
                error = ErrorCode.UNKNOWN_SERVER_ERROR
                request.answer(FetchResponse([FetchedPartition(p.topic, p.partition, error) for p in fetch.partitions]))
                return
        if owed or fetch.max_wait_ms <= 0 or not fetch.partitions or self._reads.are_enough(fetch, reads):
            self._reads.answer(request, reads)
            return
        if fetch.rack:
            redirected = [read.result for read in reads if read.result.preferred_replica >= 0]
            unread = frozenset((result.topic, result.partition) for result in redirected)
        delayed = DelayedFetch(request, fetch, self._reads, self._replicas, unread)
        # More may be there than at the read: joining the ISR takes a while.
        work = self._purgatory.check(delayed)
        if work is not None:
            yield from work
        if not delayed.done and self._purgatory.park(delayed, fetch.max_wait_ms):
            delayed.watch()

    def _tell_out_of_range(self, fetch: FetchRequest, reads: list[Read], correlation: int) -> None:
        """Emit an event for every fetch offset of a follower that this leader does not have."""
        for index, read in enumerate(reads):
            if not read.result.error or read.result.error != ErrorCode.OFFSET_OUT_OF_RANGE:
                continue
            entry = fetch.partitions[index]
            topic_partition = (entry.topic, entry.partition)
            partition = self._replicas.partitions.get(topic_partition)
            if partition is not None:  # else a later read found its log directory failed
                ends = (partition.the_log.log_start, partition.the_log.log_end)
                self._context.emit(
                    FetchOutOfRange(*topic_partition, fetch.replica_id, entry.fetch_offset, *ends, correlation)
                )

    # --- progress of a follower ---

    def _note_progress(
        self, fetch: FetchRequest, reads: list[Read], tells_start: bool
    ) -> Work[frozenset[TopicPartition]]:
        """Note a follower's progress, partition by partition.

        A locked partition, or one whose ISR grows by a write to ZooKeeper, holds up the rest, and the response.
        Returns the partitions without assignment, whose reads become empty. Raises NotAssigned.
        """
        unassigned = set()
        for index, entry in enumerate(fetch.partitions):
            read = reads[index]
            topic_partition = (entry.topic, entry.partition)
            partition = self._replicas.partitions.get(topic_partition)
            if partition is None:
                continue
            if fetch.replica_id not in partition.remotes:
                if self._context.gates.unassigned_follower_fails_fetch:
                    raise NotAssigned
                unassigned.add(topic_partition)
                read.result.records = b""
                read.result.incomplete = False
                continue
            if not partition.leads:
                if not self._context.gates.deposed_leader_answers_parked:
                    yield from partition.check_parked_produces()
                continue
            if not read.result.error and self._context.fetches_as_former_life(fetch.replica_id, fetch.broker_epoch):
                error = ErrorCode.NOT_LEADER_OR_FOLLOWER
                reads[index] = Read(FetchedPartition(entry.topic, entry.partition, error), NO_OFFSET, read.at_ms)
            elif read.result.error:
                gates = self._context.gates
                if not gates.failed_reads_keep_follower_state:
                    fetched_ms = read.at_ms if gates.lag_by_messages else LONG_AGO_MS
                    partition.remotes[fetch.replica_id].read_failed(fetched_ms)
            elif read.result.diverging_epoch is None:
                if tells_start:
                    partition.remotes[fetch.replica_id].log_start = entry.log_start
                yield from self._progressed(partition, fetch, entry, read)
        return frozenset(unassigned)

    def _progressed(self, partition: Partition, fetch: FetchRequest, entry: FetchPartition, read: Read) -> Work[None]:
        """Note one partition's progress as of its read, however long it waits for the lock."""
        follower = fetch.replica_id
        remote = partition.remotes[follower]
        before, remote.last_sent_high_watermark = remote.log_end, read.result.high_watermark
        partition.follower_fetched(follower, entry.fetch_offset, read.leader_log_end, read.at_ms, fetch.broker_epoch)
        moved = before != entry.fetch_offset or not self._context.gates.high_watermark_needs_moved_follower
        if not partition.lock.is_free():
            yield from partition.lock.writing()
        replica = partition.remotes.get(follower)
        if replica is not None and partition.may_join_isr(replica):
            yield from self._isr_changes.expand(partition, follower)
        if moved and partition.leads and partition.advance_high_watermark(read.at_ms):
            yield from partition.check_parked()
        elif partition.parked_deletions:
            yield from partition.check_parked_deletions()
