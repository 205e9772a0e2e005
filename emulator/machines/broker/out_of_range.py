"""A follower whose next offset its leader does not have. Semantics 2.3."""

from collections import deque
from collections.abc import Callable

from emulator.machines.broker.broker_context import SessionExpired
from emulator.machines.broker.fetch_state import Followed
from emulator.machines.broker.settings import with_topic_overrides
from emulator.machines.broker.truncating import Send, Truncating
from protocol.errors import ErrorCode
from protocol.events import FetchOffsetReset
from protocol.ids import EPOCH_UNKNOWN, Offset, TopicPartition
from protocol.kinds import CutReason, ExitKind
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from protocol.work import Work
from protocol.znodes import topic_config_path

FENCED_LIST_OFFSETS = 4
"""Version of ListOffsets with the current leader epoch (KIP-320)."""


class OutOfRange:
    """Partitions out of range of one fetcher, handled one at a time.

    It requests the leader's log end, then perhaps its log start. `go_on` lets the fetcher do its next step.
    """

    def __init__(self, followed: Followed, truncating: Truncating, send: Send, go_on: Callable[[], None]) -> None:
        self._followed = followed
        self._truncating = truncating
        self._context = followed.context
        self._replicas = followed.replicas
        self._send = send
        self._go_on = go_on
        self._found: deque[TopicPartition] = deque()
        self._callbacks: list[Callable[[], None]] = []
        self.asks_session = False
        """Whether it reads the topic's setting from ZooKeeper; the fetcher waits meanwhile."""

    def __bool__(self) -> bool:
        """Whether there is any such partition."""
        return bool(self._found)

    def note(self, topic_partition: TopicPartition) -> None:
        """Note a partition whose fetch offset is not in the leader's log."""
        if topic_partition not in self._found:
            self._found.append(topic_partition)

    def when_none(self, done: Callable[[], None]) -> None:
        """Call `done` when there is none any more, with or without a response."""
        self._callbacks.append(done)

    def tell(self) -> None:
        """Call the waiting callbacks, if there is none."""
        if not self._found:
            callbacks, self._callbacks = self._callbacks, []
            for done in callbacks:
                done()

    def clear(self) -> None:
        """Drop all partitions: the fetcher ends."""
        self._found.clear()
        self.tell()

    def nothing_came(self, reason: str) -> None:
        """Delay the first partition; the others go on, over a new connection."""
        self._followed.delay([self._found.popleft()], reason)
        self.tell()

    def ask_first(self) -> None:
        topic_partition = self._found[0]
        self._ask(topic_partition, LATEST_TIMESTAMP, lambda listed: self._latest_answered(topic_partition, listed))

    def _ask(
        self, topic_partition: TopicPartition, timestamp: int, answered: Callable[[ListedOffset], None]
    ) -> None:
        state = self._followed.states.get(topic_partition)
        if state is None:
            self._found.popleft()
            self._go_on()
            return
        epoch = state.leader_epoch if self._context.gates.fences_by_epoch else EPOCH_UNKNOWN
        request_epoch = state.leader_epoch

        def handle(message: Message) -> None:
            assert isinstance(message, ListOffsetsResponse), message
            listed = message.partitions[0]
            now_state = self._followed.states.get(topic_partition)
            if now_state is None or now_state.leader_epoch != request_epoch:
                self._found.popleft()
            elif listed.error == ErrorCode.NONE:
                answered(listed)
            else:
                self._found.popleft()
                if listed.error == ErrorCode.FENCED_LEADER_EPOCH:
                    self._followed.fenced(topic_partition, request_epoch)
                else:
                    self._followed.delay([topic_partition], ErrorCode(listed.error).name)

        self._send(
            ListOffsetsRequest(self._context.broker, [ListOffsetsPartition(*topic_partition, timestamp, epoch)]),
            FENCED_LIST_OFFSETS if self._context.gates.fences_by_epoch else 0,
            handle,
        )

    def _latest_answered(self, topic_partition: TopicPartition, listed: ListedOffset) -> None:
        partition = self._replicas.partitions[topic_partition]
        log = partition.the_log
        if listed.offset >= log.log_end:
            self._ask(
                topic_partition, EARLIEST_TIMESTAMP, lambda earliest: self._earliest_answered(topic_partition, earliest)
            )
            return
        if self._context.gates.out_of_range_exits:
            self.asks_session = True
            work = self._cut_if_allowed(topic_partition, listed.offset)
            self._context.threads.start(
                "fetcher", f"cut {topic_partition[0]}-{topic_partition[1]}", work, self._decided
            )
            return
        self._found.popleft()
        self._cut_to_leaders_end(topic_partition, listed.offset)

    def _decided(self, result: None) -> None:
        self.asks_session = False
        self._go_on()

    def _cut_to_leaders_end(self, topic_partition: TopicPartition, offset: Offset) -> None:
        partition = self._replicas.partitions[topic_partition]
        self._reset(topic_partition, offset, partition.the_log.log_end, "latest")
        self._truncating.cut(partition, topic_partition, offset, CutReason.OUT_OF_RANGE, complete=True)
        self._followed.move_to_end(topic_partition)

    def _cut_if_allowed(self, topic_partition: TopicPartition, offset: Offset) -> Work[None]:
        """Truncate if the topic allows unclean election, by its present setting in ZooKeeper.

        Otherwise the process exits. The fetcher waits for the setting.
        """
        try:
            config = yield from self._replicas.configuration_at(topic_config_path(topic_partition[0]))
        except SessionExpired:
            self._found.popleft()
            self._followed.delay([topic_partition], "session expired")
            return
        self._found.popleft()
        if topic_partition not in self._followed.states:
            return  # its log directory failed meanwhile
        if with_topic_overrides(self._context.settings, config).unclean_leader_election_enable:
            self._cut_to_leaders_end(topic_partition, offset)
            return
        log_end = self._replicas.partitions[topic_partition].the_log.log_end
        self._reset(topic_partition, offset, log_end, "not-allowed")
        self._context.out.exit(
            1,
            f"log truncation is not allowed for {topic_partition[0]}-{topic_partition[1]}: "
            f"the leader ends at {offset}, this replica at {log_end}",
            ExitKind.AHEAD_OF_LEADER,
        )

    def _reset(self, topic_partition: TopicPartition, offset: Offset, log_end: Offset, reason: str) -> None:
        self._context.emit(FetchOffsetReset(*topic_partition, self._followed.source, offset, log_end, reason))

    def _earliest_answered(self, topic_partition: TopicPartition, listed: ListedOffset) -> None:
        partition = self._replicas.partitions[topic_partition]
        log = partition.the_log
        self._found.popleft()
        self._reset(topic_partition, listed.offset, log.log_end, "start")
        if listed.offset > log.log_end or self._context.gates.out_of_range_starts_over:
            self._replicas.truncate_fully(partition, listed.offset)
            if partition.offline:
                return
        state = self._followed.states[topic_partition]
        state.offset = log.log_end
        state.truncating = False
        state.last_fetched_epoch = log.epochs.latest
        self._followed.move_to_end(topic_partition)
