"""A consumer as Kafka's Java client, with partitions assigned by hand: it reads what leaders let consumers
see.

One fetch at a time goes to each leader, for all partitions that can be read there. Errors follow semantics 6
("Consumer"): a wrong leader leads to new metadata, an offset out of range to `auto.offset.reset`, and from
2.3 a new leader is asked whether it has the history that was read. Without a policy reading stops with the
problem that Java would throw. The old consumer differs only in its settings: no epochs, other names for the
policy.

A departure from Kafka: after an error a partition waits `retry.backoff.ms`, where Java asks again at once
until the metadata come.
"""

from collections.abc import Callable, Mapping

from emulator.client.client_settings import ConsumerSettings
from emulator.client.connections import BrokerConnections
from emulator.client.consumer_position import Position, reset_timestamp
from emulator.client.consumer_positioning import CONSUMER, OnProblem, Positioning, Trouble
from emulator.client.deadlines import PollTimer, is_due
from emulator.client.exchange import Failure
from emulator.client.fetched import FetchedEntry, read_entries
from emulator.client.metadata_cache import Leader, MetadataCache
from emulator.client.operations import OperationLog
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.events import RecordsRead
from protocol.ids import TopicPartition
from protocol.machine import Input, Now, Outbox
from protocol.messages.base import Message
from protocol.messages.replication import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from protocol.records.errors import CorruptRecord

PARTITIONS_MAX = 10_000
"""Partitions of one consumer."""

_IN_FLIGHT_MAX = 100

OnRecords = Callable[[Now, Outbox, TopicPartition, list[FetchedEntry]], None]


class Consumer:
    """One consumer. A component: its owner hands it the inputs that it `handles`.

    `on_records` is given entries in the order of their offsets; `on_problem` hears why a partition stopped.
    """

    def __init__(
        self,
        key: str,
        brokers: list[str],
        operations: OperationLog,
        settings: ConsumerSettings,
        chance: Chance,
        on_records: OnRecords,
        on_problem: OnProblem,
    ) -> None:
        self._operations = operations
        self._settings = settings
        self._on_records = on_records
        self._connections = BrokerConnections(settings, chance, _IN_FLIGHT_MAX, self._connection_lost)
        self._metadata = MetadataCache(brokers, self._connections, settings)
        self._trouble = Trouble(settings, self._metadata, on_problem)
        self._positioning = Positioning(settings, self._connections, self._trouble)
        self._positions: dict[TopicPartition, Position] = {}
        self._fetching: set[str] = set()
        self._timer = PollTimer(key)
        self._running = False
        self._again = False
        self._closed = False

    def assign(self, now: Now, out: Outbox, offsets: Mapping[TopicPartition, int | None]) -> None:
        """Read these partitions too, each from its offset; None: from where the policy says.

        Raises ValueError beyond PARTITIONS_MAX, or for a partition that is being read.
        """
        if len(self._positions) + len(offsets) > PARTITIONS_MAX:
            raise ValueError(f"a consumer reads at most {PARTITIONS_MAX} partitions")
        for key, offset in offsets.items():
            if key in self._positions:
                raise ValueError(f"{key[0]}-{key[1]} is assigned already")
            start = -1 if offset is None else offset
            operation = self._operations.invoke(out, kind="fetch", topic=key[0], partition=key[1], offset=start)
            self._metadata.want_topic(key[0])
            self._positions[key] = Position(operation, start, "resetting" if offset is None else "fetching")
        self._run(now, out)

    def position(self, topic: str, partition: int) -> int:
        """The next offset to read; -1 while it is being looked up. Raises KeyError."""
        return self._positions[topic, partition].offset

    def high_watermark(self, topic: str, partition: int) -> int:
        """As the last answer had it; -1 before. Raises KeyError."""
        return self._positions[topic, partition].high_watermark

    def pause(self, topic: str, partition: int) -> None:
        """Fetch no more from it for now (backpressure). What is under way still arrives. Raises KeyError."""
        self._positions[topic, partition].paused = True

    def resume(self, now: Now, out: Outbox, topic: str, partition: int) -> None:
        """Raises KeyError."""
        self._positions[topic, partition].paused = False
        self._run(now, out)

    def seek(self, now: Now, out: Outbox, topic: str, partition: int, offset: int) -> None:
        """Read on from `offset`, also where reading had stopped. Raises KeyError."""
        position = self._positions[topic, partition]
        if position.operation.ended:
            position.operation = self._operations.invoke(
                out, kind="fetch", topic=topic, partition=partition, offset=offset
            )
        position.seek(offset)
        self._run(now, out)

    def close(self, now: Now, out: Outbox) -> None:
        """Stop reading. Every operation ends with the position reached."""
        self._closed = True
        self._connections.close(out)
        self._timer.cancel(out)
        for position in self._positions.values():
            if not position.operation.ended:
                position.operation.end(out, error=0, offset=position.offset, leader_epoch=position.offset_epoch)
        self._positions.clear()

    def handles(self, event: Input) -> bool:
        return self._timer.handles(event) or self._connections.handles(event)

    def handle(self, now: Now, event: Input, out: Outbox) -> None:
        if self._timer.handles(event):
            self._timer.fired()
        else:
            self._running = True  # an owner that seeks or resumes when told of records waits for the round below
            self._connections.handle(now, event, out)
            self._running = False
        self._run(now, out)

    # --- one round --------------------------------------------------------------------------------------------

    def _run(self, now: Now, out: Outbox) -> None:
        """Ask everything that can be asked now."""
        if self._closed:
            return
        if self._running:
            self._again = True
            return
        self._running = True
        self._connections.poll(now, out)
        self._again = True
        while self._again and not self._closed:
            self._again = False
            self._ask(now, out)
        self._running = False
        if not self._closed:
            self._metadata.poll(now, out)
            self._set_timer(now, out)

    def _ask(self, now: Now, out: Outbox) -> None:
        to_fetch: dict[str, list[TopicPartition]] = {}
        leaders: dict[str, Leader] = {}
        for key, position in list(self._positions.items()):
            if position.busy or position.paused or position.state == "stopped":
                continue
            leader = self._metadata.leader(*key)
            if leader is None:
                self._metadata.request_update()
                continue
            if self._settings.validates_epochs:
                position.meet_leader(leader.epoch)
            if not is_due(now, position.not_before_ms):
                continue
            if position.state == "fetching":
                to_fetch.setdefault(leader.node, []).append(key)
                leaders[leader.node] = leader
            elif self._connections.ready(now, out, leader.node):
                self._positioning.ask(now, out, key, position, leader)
        for node, keys in to_fetch.items():
            if node not in self._fetching and self._connections.ready(now, out, node):
                self._ask_records(now, out, leaders[node], keys)

    def _set_timer(self, now: Now, out: Outbox) -> None:
        deadlines_ms = [self._connections.next_at_ms(), self._metadata.next_at_ms()]
        deadlines_ms += [p.not_before_ms for p in self._positions.values() if not p.busy and p.state != "stopped"]
        self._timer.set(now, out, deadlines_ms)

    # --- records ------------------------------------------------------------------------------------------------

    def _ask_records(self, now: Now, out: Outbox, leader: Leader, keys: list[TopicPartition]) -> None:
        settings = self._settings
        asked = {}
        for key in keys:
            position = self._positions[key]
            position.busy = True
            asked[key] = (position, position.generation)
        self._fetching.add(leader.node)

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            self._fetching.discard(leader.node)
            results: dict[TopicPartition, FetchedPartition] = {}
            if isinstance(answer, FetchResponse):
                results = {(result.topic, result.partition): result for result in answer.partitions}
            for key, (position, generation) in asked.items():
                if position.generation != generation:
                    continue
                position.busy = False
                if isinstance(answer, Failure):
                    self._trouble.wait(now, position)
                else:
                    missing = FetchedPartition(*key, ErrorCode.UNKNOWN_SERVER_ERROR)
                    self._fetched(now, out, key, position, results.get(key, missing), leader.broker)

        request = FetchRequest(
            replica_id=CONSUMER,
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes,
            partitions=[
                FetchPartition(
                    *key,
                    position.offset,
                    settings.max_partition_fetch_bytes,
                    current_leader_epoch=position.leader_epoch if settings.validates_epochs else -1,
                )
                for key, (position, _) in asked.items()
            ],
        )
        self._connections.send(now, out, leader.node, request, wait_ms=settings.request_timeout_ms, answered=answered)

    def _fetched(
        self,
        now: Now,
        out: Outbox,
        key: TopicPartition,
        position: Position,
        result: FetchedPartition,
        broker: int,
    ) -> None:
        if result.error == ErrorCode.OFFSET_OUT_OF_RANGE:
            if reset_timestamp(self._settings) is None:
                self._trouble.stop(now, out, key, position, "OffsetOutOfRangeException")
            else:
                position.restart()
            return
        if result.error != ErrorCode.NONE:
            self._trouble.failed(now, out, key, position, result.error)
            return
        position.high_watermark = result.high_watermark
        try:
            entries = read_entries(result.records, position.offset)
        except CorruptRecord:
            self._trouble.failed(now, out, key, position, ErrorCode.CORRUPT_MESSAGE)
            return
        for entry in entries:
            out.emit(
                RecordsRead(
                    operation=position.operation.identifier,
                    topic=key[0],
                    partition=key[1],
                    base_offset=entry.records[0].offset,
                    last_offset=entry.records[-1].offset,
                    leader_epoch=entry.leader_epoch,
                    digest=entry.digest,
                    high_watermark=result.high_watermark,
                    broker=broker,
                )
            )
        if entries:
            position.offset = entries[-1].next_offset
            position.offset_epoch = entries[-1].leader_epoch
            self._on_records(now, out, key, entries)

    def _connection_lost(self, now: Now, out: Outbox) -> None:
        self._metadata.request_update()
