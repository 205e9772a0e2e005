"""The replica fetcher: copies logs from one source broker. Semantics 2.

One per source, one request in flight. First it finds the end of the common history of its logs and the leader's,
and truncates. Then it fetches repeatedly. A response counts only for partitions unchanged since the request.

    Truncating --epoch request--> Truncating ... --truncated--> Fetching --diverging (E4)--> truncated --> Fetching
        any error: delayed for replica.fetch.backoff.ms; fenced: dropped until the next LeaderAndIsr

Up to 3.0 a fetch without a response costs twice the backoff: the thread pauses for one, then its partitions are
delayed for another. A partition that is added ends the pause. Later they are delayed only.
"""

from collections.abc import Callable

from emulator.machines.broker.batches import CorruptBatch, LargerThanAllowed, LargerThanSegment, OffsetsOutOfOrder
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.fetch_reads import FIRST_WITH_LOG_START
from emulator.machines.broker.fetch_state import FetchState, Followed
from emulator.machines.broker.out_of_range import OutOfRange
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.source_connection import SourceConnection
from emulator.machines.broker.truncating import Truncating
from emulator.machines.broker.truncation import cut_for
from emulator.storage.files import StorageError
from protocol.errors import ErrorCode
from protocol.ids import EPOCH_UNKNOWN, BrokerId, LeaderEpoch, TopicPartition
from protocol.kinds import CutReason
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    DivergingEpoch,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from protocol.records.errors import RecordsError
from protocol.records.format import iter_headers
from protocol.records.types import BatchHeader

OVERSIZED = "a message larger than replica.fetch.max.bytes"
"""Reason of a delay: no fetch can return the next message (FETCH up to version 2)."""


class ReplicaFetcher:
    """Fetcher from `source` (a broker id) at node `node`."""

    def __init__(self, context: BrokerContext, replicas: Replicas, source: BrokerId, node: str) -> None:
        self._context = context
        self._replicas = replicas
        self.source = source
        self._followed = Followed(context, replicas, source)
        self._connection = SourceConnection(context, source, node, self._work, self._nothing_came)
        self._truncating = Truncating(self._followed, self._send)
        self._out_of_range = OutOfRange(self._followed, self._truncating, self._send, self._work)
        self._wake = ("fetcher", source, "wake")
        self._dead = False
        self._pause: tuple[TopicPartition, ...] | None = None
        self._fetching = False

    # --- partitions are added and removed ---

    @property
    def states(self) -> dict[TopicPartition, FetchState]:
        """Progress by partition."""
        return self._followed.states

    def add(self, topic_partition: TopicPartition, state: FetchState) -> None:
        self._followed.add(topic_partition, state)
        if not self.waits:
            self._context.set_timer(self._wake, 0.0, self._wake_up)

    def remove(self, topic_partition: TopicPartition) -> None:
        self._followed.remove(topic_partition)

    @property
    def dead(self) -> bool:
        """Whether it has stopped fetching for good (2.4)."""
        return self._dead

    def activity(self, state: FetchState, now_ms: float) -> str:
        """Activity for one partition: fetching, truncating, delayed (after an error), stopped."""
        if self._dead:
            return "stopped"
        if self._pause is not None or state.delayed_until_ms > now_ms:
            return "delayed"
        return "truncating" if state.truncating else "fetching"

    @property
    def waits(self) -> bool:
        """Whether it waits for a connection or a response."""
        return self._connection.waits

    def end(self, ended: Callable[[], None]) -> None:
        """End a waiting fetcher without partitions after its wait (KAFKA-6051); then call `ended`."""
        self._connection.end(ended)

    @property
    def awaits_offsets(self) -> bool:
        """Whether it requests its leader's offsets for a partition out of range.

        Meanwhile no other thread may change any partition of this fetcher (semantics 2.3).
        """
        return bool(self._out_of_range)

    def when_it_has_offsets(self, done: Callable[[], None]) -> None:
        """Call `done` when it requests offsets no more, with or without a response."""
        self._out_of_range.when_none(done)

    def close(self) -> None:
        """Close the connection: no partition is left."""
        self._connection.close()
        self._context.out.cancel_timer(self._wake)
        self._dead = True
        self._out_of_range.clear()

    # --- the loop ---

    def _wake_up(self) -> None:
        if self._pause is not None:
            paused, self._pause = self._pause, None
            self._followed.delay(list(paused), "no answer to a fetch")
        self._work()

    def _work(self) -> None:
        """Do the next step, if no request is in flight.

        A turn of the loop truncates, in one round of epoch requests, then fetches the settled partitions (doWork:
        maybeTruncate, maybeFetch). Without any it waits for the backoff.
        """
        if self._connection.waits or self._out_of_range.asks_session or self._dead or self._pause is not None:
            return
        self._out_of_range.tell()
        now_ms = self._context.now.mono_ms
        if not self._truncating.has_responses:
            questions = self._truncating.questions(self._followed.ready(now_ms))
            if questions:
                self._truncating.ask_epochs(questions)
                return
        self._truncating.has_responses = False
        removed = self._truncating.cut_without_epochs()
        if removed is not None:
            self._die(f"{removed[0]}-{removed[1]} was removed while epochs were asked for")
            return
        ready = self._followed.ready(now_ms)
        settled = [one for one in ready if not one[1].truncating]
        if self._out_of_range:
            self._out_of_range.ask_first()
        elif settled:
            self._fetch(settled)
        elif ready:
            self._context.set_timer(self._wake, self._context.settings.replica_fetch_backoff_ms, self._wake_up)
        elif self.states:
            soonest = min(state.delayed_until_ms for state in self.states.values())
            self._context.set_timer(self._wake, soonest - now_ms, self._wake_up)

    def _send(self, message: Message, version: int, handle: Callable[[Message], None]) -> None:
        self._fetching = isinstance(message, FetchRequest)
        self._connection.send(message, version, handle)

    def _nothing_came(self, reason: str) -> None:
        """Handle a missing response.

        After a fetch all partitions wait for the backoff, up to 3.0 twice, then for a new connection. After an epoch
        request its partitions wait, and the turn goes on with the others.
        """
        self._truncating.has_responses = False
        if not self.states:
            return
        if self._out_of_range:
            self._out_of_range.nothing_came(reason)
            self._context.set_timer(self._wake, 0.0, self._wake_up)
            return
        if self._fetching and not self._context.gates.lost_fetch_waits_twice:
            self._followed.delay(list(self.states), "no answer to a fetch")
            self._work()
        elif self._fetching:
            self._pause = tuple(self.states)
            self._context.set_timer(self._wake, self._context.settings.replica_fetch_backoff_ms, self._wake_up)
        else:
            self._truncating.unanswered(reason)
            self._work()

    def _failed(self, topic_partition: TopicPartition, reason: str) -> None:
        """Drop a partition until the next LeaderAndIsr.

        Before 2.3 the fetcher's thread dies with all its partitions (KIP-461). Partitions added later wait too,
        until none is left and another fetcher replaces it.
        """
        if self._context.gates.append_error_fails_partition:
            self._followed.fail(topic_partition, reason)
        else:
            self._die(reason)

    def _die(self, reason: str) -> None:
        for other, state in self.states.items():
            self._followed.say(other, "failed", state.offset, reason, state.leader_epoch)
        self._dead = True

    # --- fetching ---

    def _fetch(self, ready: list[tuple[TopicPartition, FetchState]]) -> None:
        settings, gates = self._context.settings, self._context.gates
        self._followed.requested = {
            topic_partition: (state.offset, state.leader_epoch) for topic_partition, state in ready
        }
        fences, truncates, max_bytes = gates.fences_by_epoch, gates.truncates_on_fetch, settings.replica_fetch_max_bytes
        partitions = [
            FetchPartition(
                topic,
                partition,
                state.offset,
                max_bytes,
                self._replicas.partitions[topic, partition].the_log.log_start,
                state.leader_epoch if fences else EPOCH_UNKNOWN,
                state.last_fetched_epoch if truncates else EPOCH_UNKNOWN,
            )
            for (topic, partition), state in ready
        ]
        request = FetchRequest(
            self._context.broker,
            settings.replica_fetch_wait_max_ms,
            settings.replica_fetch_min_bytes,
            settings.replica_fetch_response_max_bytes,
            partitions,
            self._context.broker_epoch if gates.isr_members_checked_by_broker_epoch else -1,
        )
        self._send(request, gates.fetch_version, self._fetched)

    def _fetched(self, message: Message) -> None:
        assert isinstance(message, FetchResponse), message
        for result in message.partitions:
            topic_partition = (result.topic, result.partition)
            state = self._followed.states.get(topic_partition)
            requested = self._followed.requested.get(topic_partition)
            # Removed, added again or truncated since the request: then the response does not count.
            if state is None or requested is None or requested[0] != state.offset or state.truncating or self._dead:
                continue
            if state.delayed_until_ms > self._context.now.mono_ms:
                continue
            self._fetched_one(topic_partition, state, requested[1], result)

    def _fetched_one(
        self, topic_partition: TopicPartition, state: FetchState, request_epoch: LeaderEpoch, result: FetchedPartition
    ) -> None:
        match result.error:
            case 0:
                self._take(topic_partition, state, result)
            case ErrorCode.OFFSET_OUT_OF_RANGE:
                self._out_of_range.note(topic_partition)
            case ErrorCode.FENCED_LEADER_EPOCH:
                self._followed.fenced(topic_partition, request_epoch)
            case other:
                self._followed.delay([topic_partition], ErrorCode(other).name)

    def _append(self, partition: Partition, records: bytes) -> list[BatchHeader] | None:
        """Append a leader's batches.

        An empty log may begin with the batch that contains the leader's log start (KAFKA-6975). None: its log
        directory failed meanwhile. Raises as Log.append_as_follower.
        """
        log = partition.the_log
        try:
            return log.append_as_follower(records)
        except OffsetsOutOfOrder as error:
            within = log.log_start == log.log_end and error.first < log.log_end <= error.last
            if not within or not self._context.gates.empty_log_begins_within_batch:
                raise
            self._replicas.truncate_fully(partition, error.first)
            return None if partition.offline else log.append_as_follower(records)

    def _up_to_epoch(self, records: bytes, fetched_epoch: LeaderEpoch) -> bytes:
        """The batches before the first one of a later leader epoch than the fetch's (KAFKA-18723)."""
        if not self._context.gates.appends_up_to_fetched_epoch:
            return records
        try:
            later = (at for at, header in iter_headers(records) if header.leader_epoch > fetched_epoch)
            return records[: next(later, len(records))]
        except RecordsError:
            return records  # damaged: the append refuses it

    def _take(self, topic_partition: TopicPartition, state: FetchState, result: FetchedPartition) -> None:
        """Append, follow the high watermark, truncate at a diverging epoch of the response."""
        partition = self._replicas.partitions[topic_partition]
        log = partition.the_log
        gates = self._context.gates
        if result.diverging_epoch is not None and gates.divergence_keeps_high_watermark:
            self._cut_at(partition, topic_partition, state, result.diverging_epoch)
            return
        if state.offset != log.log_end and result.records:
            self._failed(topic_partition, f"fetch offset {state.offset} is not the log end {log.log_end}")
            return
        try:
            records = self._up_to_epoch(result.records, state.leader_epoch)
            headers = self._append(partition, records) if records else []
        except CorruptBatch as damage:
            if gates.damaged_batch_ends_fetcher:
                self._failed(topic_partition, str(damage))
            else:
                self._followed.delay([topic_partition], str(damage))
            return
        except (OffsetsOutOfOrder, LargerThanAllowed, LargerThanSegment) as refusal:
            self._failed(topic_partition, str(refusal))
            return
        except StorageError as failure:
            self._replicas.storage_failed(failure)
            return
        if headers is None:
            return
        for header in headers:
            partition.appended(header, as_leader=False)
        if partition.follow_high_watermark(result.high_watermark) and gates.follower_completes_parked_fetches:
            self._check_parked_fetches(partition)
        lag = result.high_watermark - log.log_end
        is_first, state.lag = state.lag < 0, lag if lag > 0 else 0
        if gates.fetch_version >= FIRST_WITH_LOG_START and result.log_start > log.log_start:
            if result.log_start > log.high_watermark:
                self._failed(topic_partition, f"the leader's log start {result.log_start} is above the high watermark")
                return
            self._replicas.increment_log_start(partition, result.log_start, "leader")
            if partition.offline:
                return
        if result.incomplete:
            self._followed.delay([topic_partition], OVERSIZED)
        if headers:
            state.offset = log.log_end
            state.last_fetched_epoch = log.epochs.latest
            self._followed.move_to_end(topic_partition)
        elif is_first and gates.first_empty_fetch_forgets_epoch:
            state.last_fetched_epoch = EPOCH_UNKNOWN
        if result.diverging_epoch is not None:
            self._cut_at(partition, topic_partition, state, result.diverging_epoch)

    def _check_parked_fetches(self, partition: Partition) -> None:
        """Check consumers' fetches that are parked at this follower."""
        if partition.parked_fetches:
            self._context.threads.start("fetcher", "completing", partition.check_parked_fetches())

    def _cut_at(
        self, partition: Partition, topic_partition: TopicPartition, state: FetchState, diverging: DivergingEpoch
    ) -> None:
        """Truncate at the divergence that the leader found (E4)."""
        cut = cut_for(partition.the_log, state.offset, diverging.epoch, diverging.end_offset)
        self._truncating.answered(partition, topic_partition, diverging.epoch, diverging.end_offset, cut)
        self._truncating.cut(partition, topic_partition, cut.offset, CutReason.DIVERGING, complete=cut.complete)
