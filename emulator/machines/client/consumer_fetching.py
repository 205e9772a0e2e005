"""Fetches of a consumer: one at a time to each broker, and the handling of responses.

Records go to the owner in the order of their offsets. `Trouble` handles errors, except an offset out of range,
which the policy decides (semantics 6).
"""

from collections.abc import Callable, Mapping
from functools import partial

from emulator.machines.client.client_settings import ConsumerSettings, isolation_of
from emulator.machines.client.client_state import Failure, FetchedEntry, Leader
from emulator.machines.client.connections import BrokerConnections
from emulator.machines.client.consumer_position import Position, reset_timestamp
from emulator.machines.client.consumer_positioning import Trouble
from emulator.machines.client.fetched import read_undamaged, stable_offset
from protocol.errors import ErrorCode
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, BrokerId, TopicPartition
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from protocol.messages.workload_messages import READ_COMMITTED_LEVEL
from protocol.outbox import Due, Outbox

_EXPECTED = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    )
)
"""Errors that lead to fresh metadata and a retry.

(Brokers never send errors that are unknown to the request's version.)
"""

_WITHOUT_METADATA = frozenset((ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_LEADER_EPOCH))

OnRecords = Callable[[Now, Outbox, TopicPartition, list[FetchedEntry]], None]


class Fetching:
    """Fetches of one consumer; `on_records` receives each partition's entries, if any.

    While `may_read` is false, responses are kept until `take_kept`: received, but not reached by poll().
    """

    def __init__(
        self,
        settings: ConsumerSettings,
        connections: BrokerConnections,
        trouble: Trouble,
        on_records: OnRecords,
        may_read: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._connections = connections
        self._trouble = trouble
        self._on_records = on_records
        self._may_read = may_read
        self._kept: list[Due] = []
        self._under_way: set[str] = set()

    def is_under_way(self, node: str) -> bool:
        """Whether a fetch to that broker is under way."""
        return node in self._under_way

    def ask(self, now: Now, out: Outbox, source: Leader, positions: Mapping[TopicPartition, Position]) -> None:
        """Send one fetch for all of `positions` to their `source`, which is ready.

        The source is their leader, or a follower in its place.
        """
        settings = self._settings
        requested = {}
        for key, position in positions.items():
            position.busy = True
            requested[key] = (position, position.generation)
        self._under_way.add(source.node)

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            self._under_way.discard(source.node)
            if isinstance(answer, Failure) or self._may_read():
                take(answer, now, out)
            else:
                self._kept.append(partial(take, answer))

        def take(answer: Message | Failure, now: Now, out: Outbox) -> None:
            results: dict[TopicPartition, FetchedPartition] = {}
            if isinstance(answer, FetchResponse):
                results = {(result.topic, result.partition): result for result in answer.partitions}
            for key, (position, generation) in requested.items():
                if position.generation != generation:
                    continue
                position.busy = False
                if isinstance(answer, Failure):
                    self._trouble.wait(now, position)
                    if settings.forgets_preferred_replica:
                        position.prefer_leader()
                else:
                    result = results.get(key) or FetchedPartition(*key, ErrorCode.UNKNOWN_SERVER_ERROR)
                    self._fetched(now, out, key, position, result, source.broker)

        request = FetchRequest(
            replica_id=CONSUMER_REPLICA_ID,
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes,
            partitions=[
                FetchPartition(
                    *key,
                    position.offset,
                    settings.max_partition_fetch_bytes,
                    current_leader_epoch=position.leader_epoch if settings.validates_epochs else EPOCH_UNKNOWN,
                )
                for key, (position, _) in requested.items()
            ],
            isolation=isolation_of(settings),
            rack=settings.client_rack,
        )
        wait_ms, version = settings.request_timeout_ms, settings.fetch_version
        self._connections.send(now, out, source.node, request, wait_ms=wait_ms, answered=answered, version=version)

    def take_kept(self, now: Now, out: Outbox) -> None:
        """Handle the kept responses in their order, as far as their positions are unchanged."""
        kept, self._kept = self._kept, []
        for take in kept:
            take(now, out)

    def _fetched(
        self,
        now: Now,
        out: Outbox,
        key: TopicPartition,
        position: Position,
        result: FetchedPartition,
        broker: BrokerId,
    ) -> None:
        settings = self._settings
        if result.error:
            self._refused(now, out, key, position, result.error)
            return
        position.operation.fetch_answered(now.mono_ms)
        if result.preferred_replica >= 0:
            position.prefer(result.preferred_replica, now.mono_ms + settings.metadata_max_age_ms)
        committed = settings.isolation_level == READ_COMMITTED_LEVEL
        stable = stable_offset(result) if committed else NO_OFFSET
        position.high_watermark = result.high_watermark
        position.readable_end = stable if stable >= 0 else result.high_watermark
        if result.incomplete:
            self._trouble.stop(now, out, key, position, "MessageSizeTooLargeException")
            return
        fetched = read_undamaged(result.records, position.offset, result.aborted if committed else ())
        if fetched.damaged and not settings.gives_what_precedes_damage:
            fetched.entries, fetched.next_offset = [], NO_OFFSET
        for entry in fetched.entries:
            position.operation.given(
                out,
                entry,
                high_watermark=result.high_watermark,
                broker=broker,
                topic_id=result.topic_id,
                last_stable_offset=stable,
            )
        if fetched.next_offset >= 0:
            position.offset, position.offset_epoch = fetched.next_offset, fetched.leader_epoch
        if fetched.entries:
            generation = position.generation
            self._on_records(now, out, key, fetched.entries)
            if position.generation != generation:
                return  # the owner has moved the position
        if fetched.damaged:
            old = settings.offsets_storage == "zookeeper"
            name = "InvalidMessageException" if old else "KafkaException"
            self._trouble.stop(now, out, key, position, name, error=int(ErrorCode.CORRUPT_MESSAGE))

    def _refused(self, now: Now, out: Outbox, key: TopicPartition, position: Position, error: int) -> None:
        """Handle a fetch error: Fetcher.initializeCompletedFetch, before 2.4 parseCompletedFetch.

        The old consumer retries after any error (ConsumerFetcherThread.handlePartitionsWithErrors).
        """
        if error == ErrorCode.OFFSET_OUT_OF_RANGE and position.prefer_leader():
            return  # the follower may lack it: the leader decides
        if error in _EXPECTED and self._settings.forgets_preferred_replica:
            position.prefer_leader()
        if error == ErrorCode.OFFSET_OUT_OF_RANGE:
            if reset_timestamp(self._settings) is None:
                self._trouble.stop(now, out, key, position, "OffsetOutOfRangeException")
            else:
                self._trouble.reset(now, out, key, position, "OffsetOutOfRangeException")
                position.restart()
        elif error in _WITHOUT_METADATA:
            self._trouble.wait(now, position)
        elif error in _EXPECTED or self._settings.offsets_storage == "zookeeper":
            self._trouble.again(now, position)
        else:
            self._trouble.stop(now, out, key, position, "IllegalStateException", error=error)
