"""Kafka's Java consumer with assigned partitions: it reads what brokers expose to consumers.

One fetch at a time goes to each leader, for all readable partitions; from 2.4 on, with a `client.rack`, to the replica
that the leader names (KIP-392, semantics 1.11). Errors follow semantics 6 ("Consumer"):

- a wrong leader leads to new metadata;
- an offset out of range leads to `auto.offset.reset`; without a policy reading stops with Java's exception;
- from 2.3 the consumer asks a new leader whether it has the history that was read.

With a group it begins at the committed offset (`group_position`). The old consumer differs in its settings (no
epochs, other names for the policy) and in the place of its offsets. A departure from Kafka: after an error a
partition waits `retry.backoff.ms`, where Java repeats the request at once until the metadata come.
"""

from collections.abc import Callable, Mapping, Sequence

from emulator.machines.client.client_metadata import MetadataCache
from emulator.machines.client.client_operations import Operation, OperationLog
from emulator.machines.client.client_settings import ConsumerSettings
from emulator.machines.client.client_state import Leader
from emulator.machines.client.connections import BrokerConnections
from emulator.machines.client.consumer_fetching import Fetching, OnRecords
from emulator.machines.client.consumer_position import Position, State
from emulator.machines.client.consumer_positioning import OnProblem, Positioning, Trouble
from emulator.machines.client.deadlines import NEVER, PollTimer, is_due
from emulator.machines.client.group_position import GroupPosition
from emulator.machines.client.offset_store import CommitEnded, OffsetStore
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.ids import NO_OFFSET, Offset, TopicPartition
from protocol.machine import Now
from protocol.messages.workload_messages import READ_COMMITTED_LEVEL
from protocol.outbox import Due, Outbox

PARTITIONS_MAX = 10_000
"""Bound of one consumer's partitions."""

_IN_FLIGHT_MAX = 100


class Consumer:
    """One consumer.

    `on_records` receives entries in the order of their offsets; `on_problem` the reason why a partition stopped.
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
        on_reset: OnProblem | None = None,
        store: OffsetStore | None = None,
        handled: Due = lambda now, out: None,
        may_read: Callable[[], bool] = lambda: True,
    ) -> None:
        """Create a consumer without partitions.

        `on_reset`: receives wrong positions that the policy replaces. `store`: the group's, if the settings name a
        group. `handled`: called after each input, of either. `may_read`: whether poll() reaches reading
        (`look_again` when it does again).
        """
        assert (store is not None) == bool(settings.group_id), "a group has a store, and only a group"
        self._operations = operations
        self._settings = settings
        self._connections = BrokerConnections(settings, chance, _IN_FLIGHT_MAX, self._connection_lost, self._due)
        self._metadata = MetadataCache(brokers, self._connections, settings)
        self._trouble = Trouble(settings, self._metadata, on_problem, on_reset)
        self._positioning = Positioning(settings, self._connections, self._trouble)
        self._positions: dict[TopicPartition, Position] = {}
        self._store = store
        self._handled = handled
        self._group: GroupPosition | None = None
        if store is not None:
            self._group = GroupPosition(settings, store, self._positions, self._trouble, self._run)
            store.handled = self._due
        self._may_read = may_read
        self._fetching = Fetching(settings, self._connections, self._trouble, on_records, self._may_fetch)
        self._timer = PollTimer(key, self._due)
        self._running = False
        self._again = False
        self._closed = False

    def assign(self, now: Now, out: Outbox, offsets: Mapping[TopicPartition, Offset | None]) -> None:
        """Read further partitions, each from its offset; None: from the committed offset or policy.

        Raises ValueError beyond PARTITIONS_MAX, or for a partition that is being read.
        """
        if len(self._positions) + len(offsets) > PARTITIONS_MAX:
            raise ValueError(f"a consumer reads at most {PARTITIONS_MAX} partitions")
        for key, offset in offsets.items():
            if key in self._positions:
                raise ValueError(f"{key[0]}-{key[1]} is assigned already")
            start = NO_OFFSET if offset is None else offset
            operation = self._invoke(out, key, start)
            self._metadata.want_topic(key[0])
            unknown: State = "resetting" if self._group is None else "looking-up"
            self._positions[key] = Position(operation, start, unknown if offset is None else "fetching")
        if self._group is not None:
            self._group.start(now)
        self._run(now, out)

    def unassign(self, now: Now, out: Outbox, topic_partitions: Sequence[TopicPartition]) -> None:
        """Stop reading partitions; responses under way are ignored. Raises KeyError."""
        for key in topic_partitions:
            position = self._positions.pop(key)
            position.hold()
            if not position.operation.ended:
                position.operation.end(out, error=0, offset=position.offset, leader_epoch=position.offset_epoch)
        self._run(now, out)

    @property
    def assigned(self) -> list[TopicPartition]:
        """Assigned partitions, stopped or not."""
        return list(self._positions)

    def want_topic(self, now: Now, out: Outbox, topic: str) -> None:
        """Request a topic's metadata, though none of its partitions is assigned yet."""
        self._metadata.want_topic(topic)
        self._run(now, out)

    def partition_counts(self, topics: Sequence[str]) -> dict[str, int]:
        """Numbers of partitions by topic; unknown topics are left out and requested."""
        for topic in topics:
            self._metadata.want_topic(topic)
        choices = {topic: self._metadata.choices(topic) for topic in topics}
        return {topic: known[0] for topic, known in choices.items() if known is not None}

    def look_again(self, now: Now, out: Outbox) -> None:
        """Read again, as far as `may_read` permits."""
        self._run(now, out)

    def hold(self) -> None:
        """Keep all positions: responses under way are ignored."""
        for position in self._positions.values():
            position.hold()

    def position(self, topic: str, partition: int) -> Offset:
        """The next offset to read; -1 while it is being looked up. Raises KeyError."""
        return self._positions[topic, partition].offset

    def high_watermark(self, topic: str, partition: int) -> int:
        """High watermark of the last response; -1 before. Raises KeyError."""
        return self._positions[topic, partition].high_watermark

    def committed(self, topic: str, partition: int) -> Offset | None:
        """The group's committed offset at the start. Raises KeyError.

        None: there was none, or it is not known yet.
        """
        return self._positions[topic, partition].committed

    def is_at_end(self, topic: str, partition: int) -> bool:
        """Whether all is read up to the end of the last response, or reading has stopped.

        Raises KeyError.
        """
        position = self._positions[topic, partition]
        return position.state == "stopped" or (
            position.state == "fetching" and position.offset == position.readable_end
        )

    def pause(self, topic: str, partition: int) -> None:
        """Stop fetching a partition for now (backpressure); a response under way still arrives.

        Raises KeyError.
        """
        self._positions[topic, partition].paused = True

    def resume(self, now: Now, out: Outbox, topic: str, partition: int) -> None:
        """Fetch a partition again. Raises KeyError."""
        self._positions[topic, partition].paused = False
        self._run(now, out)

    def seek(self, now: Now, out: Outbox, topic: str, partition: int, offset: Offset) -> None:
        """Read on from `offset`, also where reading had stopped. Raises KeyError."""
        position = self._positions[topic, partition]
        if position.operation.ended:
            position.operation = self._invoke(out, (topic, partition), offset)
        else:
            position.operation.position_left(out, position.offset, "seek", stopped=False)
        position.seek(offset)
        self._run(now, out)

    def _invoke(self, out: Outbox, key: TopicPartition, offset: Offset) -> Operation:
        level = self._settings.isolation_level
        return self._operations.invoke(
            out, kind="fetch", topic=key[0], partition=key[1], offset=offset,
            isolation=level if level == READ_COMMITTED_LEVEL else "",
        )  # fmt: skip

    def commit(self, now: Now, out: Outbox, ended: CommitEnded, timeout_ms: float) -> None:
        """Commit the positions for the group, with retries up to `timeout_ms`."""
        assert self._group is not None, "it has no group"
        self._group.commit(now, out, ended, timeout_ms)

    def restart_commits(self, now: Now) -> None:
        """Restart the time to the next automatic commit."""
        if self._group is not None:
            self._group.start(now, anew=True)

    def commit_last(self, now: Now, out: Outbox, ended: CommitEnded) -> None:
        """Stop reading; commit for the last time, if commits are automatic."""
        self.hold()
        if self._group is None:
            ended(now, out, ErrorCode.NONE)
        else:
            self._group.leave(now, out, ended)

    def leave(self, now: Now, out: Outbox, left: CommitEnded) -> None:
        """`commit_last`, then close. `left` receives the commit's error."""

        def ended(now: Now, out: Outbox, error: int | str) -> None:
            self.close(now, out)
            left(now, out, error)

        self.commit_last(now, out, ended)

    def close(self, now: Now, out: Outbox) -> None:
        """Stop reading at once, without a commit. Every operation ends with the position reached."""
        if self._closed:
            return
        self._closed = True
        self._connections.close(out)
        if self._store is not None:
            self._store.close(now, out)
        self._timer.cancel(out)
        for position in self._positions.values():
            if not position.operation.ended:
                position.operation.end(out, error=0, offset=position.offset, leader_epoch=position.offset_epoch)
        self._positions.clear()

    @property
    def closed(self) -> bool:
        """Whether no further event is to be handled."""
        return self._closed and (self._store is None or self._store.closed)

    def _due(self, now: Now, out: Outbox) -> None:
        self._run(now, out)
        self._handled(now, out)

    # --- one round --------------------------------------------------------------------------------------------

    def _run(self, now: Now, out: Outbox) -> None:
        """Send all requests that are possible now."""
        if self._closed:
            return
        if self._running or self._connections.handling:
            self._again = True
            return
        self._running = True
        self._connections.poll(now, out)
        if self._may_read():
            if self._may_fetch():
                self._fetching.take_kept(now, out)
            if self._group is not None:
                self._group.look_up(now, out)
                if not self._is_placing():
                    self._group.poll(now, out)
            self._again = True
            while self._again and not self._closed:
                self._again = False
                self._ask(now, out)
        self._running = False
        if not self._closed:
            self._metadata.poll(now, out)
            self._set_timer(now, out)

    def _may_fetch(self) -> bool:
        """Whether poll() reaches returning records and fetching."""
        if not self._may_read() or self._is_placing():
            return False
        waits = not self._settings.reads_while_it_joins
        return not (waits and any(position.state == "looking-up" for position in self._positions.values()))

    def _is_placing(self) -> bool:
        """Up to 1.0 a position that awaits the reset policy blocks poll()."""
        blocks = self._settings.resets_block_poll
        return blocks and any(position.state == "resetting" for position in self._positions.values())

    def _may_place(self) -> bool:
        """Whether positions may be requested.

        Where positions block poll() the requests go together: not before all partitions have a leader.
        """
        return not self._settings.resets_block_poll or not any(
            position.state == "resetting" and self._metadata.current_leader(*key) is None
            for key, position in self._positions.items()
        )

    def _ask(self, now: Now, out: Outbox) -> None:
        to_fetch: dict[str, list[TopicPartition]] = {}
        sources: dict[str, Leader] = {}
        may_fetch, may_place = self._may_fetch(), self._may_place()
        for key, position in list(self._positions.items()):
            if position.busy or position.paused or position.state in ("stopped", "looking-up"):
                continue
            leader = self._metadata.current_leader(*key)
            if leader is None:
                self._metadata.request_update()
                continue
            if self._settings.validates_epochs:
                position.meet_leader(leader.epoch)
            if not is_due(now, position.not_before_ms):
                continue
            if position.state == "fetching" and may_fetch:
                source = self._source(now, key, position, leader)
                to_fetch.setdefault(source.node, []).append(key)
                sources[source.node] = source
            elif position.state != "fetching" and may_place and self._connections.ready(now, out, leader.node):
                self._positioning.ask(now, out, key, position, leader)
        for node, keys in to_fetch.items():
            if not self._fetching.is_under_way(node) and self._connections.ready(now, out, node):
                self._fetching.ask(now, out, sources[node], {key: self._positions[key] for key in keys})

    def _source(self, now: Now, key: TopicPartition, position: Position, leader: Leader) -> Leader:
        """The replica to fetch from: the preferred one, else the leader.

        The preferred one must be online, and its time not over (Fetcher.selectReadReplica).
        """
        if position.preferred < 0:
            return leader
        forgets = self._settings.forgets_preferred_replica
        node = self._metadata.online(*key, position.preferred, of_replicas=forgets)
        if node is not None and now.mono_ms <= position.preferred_until_ms:
            return Leader(position.preferred, node, leader.epoch)
        position.prefer_leader()
        if node is None and forgets:
            self._metadata.request_update()
        return leader

    def _set_timer(self, now: Now, out: Outbox) -> None:
        deadlines_ms = [self._connections.next_at_ms(), self._metadata.next_at_ms()]
        deadlines_ms.append(NEVER if self._group is None else self._group.next_at_ms())
        deadlines_ms += [p.not_before_ms for p in self._positions.values() if not p.busy and p.state != "stopped"]
        self._timer.set(now, out, deadlines_ms)

    def _connection_lost(self, now: Now, out: Outbox) -> None:
        self._metadata.request_update()
