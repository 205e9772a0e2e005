"""The replica fetcher: copies logs from one source broker. Semantics 2.

One per source, one request in flight: first it settles where its logs and the leader's part (truncate), then it
fetches, again and again. A response counts only for partitions that still stand where the request found them.

    Truncating --question/answer--> Truncating ... --cut--> Fetching --diverging (E4)--> cut --> Fetching
        any error: delayed for replica.fetch.backoff.ms; fenced: dropped until the next LeaderAndIsr

A fetch that gets no answer costs twice the back-off: the thread pauses for one, then its partitions are delayed for
another. A partition that is added ends the pause.
"""

from collections import deque
from collections.abc import Callable

from emulator.machines.broker.context import BrokerContext
from emulator.machines.broker.fetch_state import FetchState
from emulator.machines.broker.log import CorruptBatch, OffsetsOutOfOrder
from emulator.machines.broker.out_of_range import OutOfRange
from emulator.machines.broker.replicas import Replicas
from emulator.machines.broker.truncation import cut_for
from emulator.storage.files import StorageError
from protocol.errors import ErrorCode
from protocol.events import FetcherChanged
from protocol.ids import TopicPartition
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, MessageReceived, Now, Outbox
from protocol.messages.base import Message
from protocol.messages.replication import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from protocol.purposes import FETCHER

OVERSIZED = "a message larger than replica.fetch.max.bytes"
"""Why a partition is delayed whose next message no fetch can bring (FETCH up to version 2)."""


class ReplicaFetcher(OutOfRange):
    """From `source` (a broker id) at node `node`."""

    def __init__(self, context: BrokerContext, replicas: Replicas, source: int, node: str) -> None:
        self._context = context
        self._replicas = replicas
        self.source = source
        self._node = node
        self.states: dict[TopicPartition, FetchState] = {}
        self._connection = 0
        self._correlation = 0
        self._awaiting: Callable[[Message], None] | None = None
        self._connecting = False
        self._asked: dict[TopicPartition, tuple[int, int]] = {}
        self._out_of_range: deque[TopicPartition] = deque()
        self._asks_session = False
        self._timeout = ("fetcher", source, "timeout")
        self._wake = ("fetcher", source, "wake")
        self._dead = False
        self._pause: tuple[TopicPartition, ...] | None = None
        self._fetching = False
        self._ended: Callable[[], None] | None = None
        self._when_it_has_offsets: list[Callable[[], None]] = []

    # --- partitions come and go ---

    def add(self, topic_partition: TopicPartition, state: FetchState) -> None:
        self.states[topic_partition] = state
        self._say(topic_partition, "added", state.offset, epoch=state.leader_epoch)
        if not self.waits:
            self._context.set_timer(self._wake, 0.0, self._wake_up)

    def remove(self, topic_partition: TopicPartition) -> None:
        state = self.states.pop(topic_partition, None)
        if state is not None:
            self._say(topic_partition, "removed", -1, epoch=state.leader_epoch)

    @property
    def dead(self) -> bool:
        """It fetches nothing any more (2.4)."""
        return self._dead

    def activity(self, state: FetchState, now_ms: float) -> str:
        """What it does with one of its partitions: fetching, truncating, delayed (it waits after an error), stopped."""
        if self._dead:
            return "stopped"
        if self._pause is not None or state.delayed_until_ms > now_ms:
            return "delayed"
        return "truncating" if state.truncating else "fetching"

    @property
    def waits(self) -> bool:
        """For a connection or an answer."""
        return self._awaiting is not None or self._connecting

    def end(self, ended: Callable[[], None]) -> None:
        """Of one without partitions that waits: it ends with what it waits for (KAFKA-6051), and tells."""
        assert self.waits and self._ended is None
        self._ended = ended

    @property
    def asks_for_offsets(self) -> bool:
        """A partition's next offset is not the leader's to give, and it is found out what is: meanwhile nobody else
        touches any partition of this fetcher (semantics 2.3)."""
        return bool(self._out_of_range)

    def when_it_has_offsets(self, done: Callable[[], None]) -> None:
        """`done` is called when it asks for none any more, answered or not."""
        self._when_it_has_offsets.append(done)

    def _tell_offsets(self) -> None:
        if not self._out_of_range:
            told, self._when_it_has_offsets = self._when_it_has_offsets, []
            for done in told:
                done()

    def close(self) -> None:
        """No partition is left: the connection goes too."""
        out = self._context.out
        if self._connection:
            out.close(self._connection)
        out.cancel_timer(self._timeout)
        out.cancel_timer(self._wake)
        self._connection = 0
        self._dead = True
        self._out_of_range.clear()
        self._tell_offsets()

    def _say(
        self, topic_partition: TopicPartition, change: str, offset: int, reason: str = "", epoch: int = -1
    ) -> None:
        self._context.emit(FetcherChanged(*topic_partition, change, self.source, offset, reason, epoch))

    # --- inputs ---

    def _heard(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, MessageReceived):
            self._received(event)
        elif isinstance(event, ConnectionOpened):
            self._opened()
        else:
            self._lost(event)

    def _opened(self) -> None:
        self._connecting = False
        self._context.out.cancel_timer(self._timeout)
        if not self._end_if_asked():
            self._work()

    def _lost(self, event: ConnectionLost) -> None:
        self._connection = 0
        self._transport_failed(event.reason)

    def _received(self, event: MessageReceived) -> None:
        if self._awaiting is None or event.correlation_id != self._correlation:
            return
        handle, self._awaiting = self._awaiting, None
        self._context.out.cancel_timer(self._timeout)
        if self._end_if_asked():
            return
        handle(event.message)
        self._work()

    def _timed_out(self) -> None:
        self._context.out.close(self._connection)
        self._connection = 0
        self._transport_failed("timed out")

    def _wake_up(self) -> None:
        self._end_pause()
        self._work()

    def _end_if_asked(self) -> bool:
        if self._ended is None:
            return False
        ended, self._ended = self._ended, None
        self._awaiting, self._connecting = None, False
        ended()
        return True

    # --- the loop ---

    def _work(self) -> None:
        """Do the next thing, if nothing is in flight."""
        if self.waits or self._asks_session or self._dead or self._pause is not None:
            return
        self._tell_offsets()
        now_ms = self._context.now.mono_ms
        self._truncate_without_asking(now_ms)
        questions = [
            (topic_partition, state)
            for topic_partition, state in self.states.items()
            if state.truncating and state.delayed_until_ms <= now_ms
        ]
        if questions:
            self._ask_epochs(questions)
            return
        if self._out_of_range:
            self._ask_latest(self._out_of_range[0])
            return
        ready = [
            (topic_partition, state)
            for topic_partition, state in self.states.items()
            if state.delayed_until_ms <= now_ms
        ]
        if ready:
            self._fetch(ready)
        elif self.states:
            soonest = min(state.delayed_until_ms for state in self.states.values())
            self._context.set_timer(self._wake, soonest - now_ms, self._wake_up)

    def _send(self, message: Message, version: int, handle: Callable[[Message], None]) -> None:
        """Send when connected; otherwise connect first (the loop comes back here).

        replica.socket.timeout.ms bounds connecting alone; an answer may take request.timeout.ms (2.4), in 0.8.2 as long
        as connecting.
        """
        out, settings = self._context.out, self._context.settings
        self._fetching = isinstance(message, FetchRequest)
        if not self._connection:
            self._context.set_timer(self._timeout, settings.replica_socket_timeout_ms, self._timed_out)
            self._connection = out.open(self._node, FETCHER, self._heard)
            self._connecting = True
            return
        of_request = self._context.gates.fetcher_answer_within_request_timeout
        limit_ms = settings.request_timeout_ms if of_request else settings.replica_socket_timeout_ms
        self._context.set_timer(self._timeout, limit_ms, self._timed_out)
        self._correlation += 1
        self._awaiting = handle
        out.send(self._connection, message, self._correlation, version)

    def _transport_failed(self, reason: str) -> None:
        """Everything waits for the back-off, after a fetch twice; then a new connection."""
        if self._end_if_asked():
            return
        waited = self.waits
        self._awaiting = None
        self._connecting = False
        out, backoff_ms = self._context.out, self._context.settings.replica_fetch_backoff_ms
        out.cancel_timer(self._timeout)
        if not waited or not self.states:
            return  # an idle connection that ends is noticed with the next request
        if self._out_of_range:
            self._delay([self._out_of_range.popleft()], reason)  # the others go on, over a new connection
            self._tell_offsets()
            self._context.set_timer(self._wake, 0.0, self._wake_up)
            return
        if self._fetching:
            self._pause = tuple(self.states)
        else:
            self._delay(list(self.states), reason)
        self._context.set_timer(self._wake, backoff_ms, self._wake_up)

    def _end_pause(self) -> None:
        if self._pause is not None:
            paused, self._pause = self._pause, None
            self._delay(list(paused), "no answer to a fetch")

    def _delay(self, topic_partitions: list[TopicPartition], reason: str) -> None:
        now_ms = self._context.now.mono_ms
        until_ms = now_ms + self._context.settings.replica_fetch_backoff_ms
        for topic_partition in topic_partitions:
            state = self.states.get(topic_partition)
            if state is not None and state.delayed_until_ms <= now_ms:
                state.delayed_until_ms = until_ms
                self._say(topic_partition, "delayed", state.offset, reason, state.leader_epoch)

    def _failed(self, topic_partition: TopicPartition, reason: str) -> None:
        """Dropped until the next LeaderAndIsr; before 2.3 the fetcher's thread dies with all its partitions (KIP-461),
        and those given to it later wait too, until none is left and it is replaced."""
        if self._context.gates.append_error_fails_partition:
            failed = self.states.pop(topic_partition)
            self._say(topic_partition, "failed", failed.offset, reason, failed.leader_epoch)
            return
        for other, state in self.states.items():
            self._say(other, "failed", state.offset, reason, state.leader_epoch)
        self._dead = True

    # --- fetching ---

    def _fetch(self, ready: list[tuple[TopicPartition, FetchState]]) -> None:
        settings, gates = self._context.settings, self._context.gates
        self._asked = {topic_partition: (state.offset, state.leader_epoch) for topic_partition, state in ready}
        partitions = [
            FetchPartition(
                *topic_partition,
                state.offset,
                settings.replica_fetch_max_bytes,
                self._replicas.partitions[topic_partition].the_log.log_start,
                state.leader_epoch if gates.fences_by_epoch else -1,
                state.last_fetched_epoch if gates.truncates_on_fetch else -1,
            )
            for topic_partition, state in ready
        ]
        request = FetchRequest(
            self._context.broker,
            settings.replica_fetch_wait_max_ms,
            settings.replica_fetch_min_bytes,
            settings.replica_fetch_response_max_bytes,
            partitions,
        )
        self._send(request, gates.fetch_version, self._fetched)

    def _fetched(self, message: Message) -> None:
        assert isinstance(message, FetchResponse), message
        for result in message.partitions:
            topic_partition = (result.topic, result.partition)
            state = self.states.get(topic_partition)
            asked = self._asked.get(topic_partition)
            # Removed, added again or cut while the request was under way: then the answer says nothing.
            if state is None or asked is None or asked[0] != state.offset or state.truncating or self._dead:
                continue
            if state.delayed_until_ms > self._context.now.mono_ms:
                continue
            self._fetched_one(topic_partition, state, asked[1], result)

    def _fetched_one(
        self, topic_partition: TopicPartition, state: FetchState, request_epoch: int, result: FetchedPartition
    ) -> None:
        match result.error:
            case ErrorCode.NONE:
                self._take(topic_partition, state, result)
            case ErrorCode.OFFSET_OUT_OF_RANGE:
                if topic_partition not in self._out_of_range:
                    self._out_of_range.append(topic_partition)
            case ErrorCode.FENCED_LEADER_EPOCH:
                self._fenced(topic_partition, request_epoch)
            case other:
                self._delay([topic_partition], ErrorCode(other).name)

    def _take(self, topic_partition: TopicPartition, state: FetchState, result: FetchedPartition) -> None:
        """Append, follow the high watermark, cut where the leader says that we part."""
        partition = self._replicas.partitions[topic_partition]
        log = partition.the_log
        if state.offset != log.log_end and result.records:
            self._failed(topic_partition, f"fetch offset {state.offset} is not the log end {log.log_end}")
            return
        try:
            headers = log.append_as_follower(result.records) if result.records else []
        except CorruptBatch as error:
            self._delay([topic_partition], str(error))
            return
        except OffsetsOutOfOrder as error:
            self._failed(topic_partition, str(error))
            return
        except StorageError as error:
            self._replicas.storage_failed(error)
            return
        for header in headers:
            partition.appended(header, as_leader=False)
        partition.follow_high_watermark(result.high_watermark)
        state.lag = max(0, result.high_watermark - log.log_end)
        if result.incomplete:
            self._delay([topic_partition], OVERSIZED)
        if headers:
            state.offset = log.log_end
            state.last_fetched_epoch = log.epochs.latest
        if result.diverging_epoch is not None:
            diverging = result.diverging_epoch
            cut = cut_for(log, state.offset, diverging.epoch, diverging.end_offset)
            self._answered(partition, topic_partition, diverging.epoch, diverging.end_offset, cut)
            self._cut(partition, topic_partition, cut.offset, "diverging", complete=cut.complete)
