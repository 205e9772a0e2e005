"""Progress of a fetcher: of one partition, and of all partitions of one source."""

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.replica_manager import Replicas
from protocol.events import FetcherChanged
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, BrokerId, LeaderEpoch, Offset, TopicPartition


class FetchState:
    """Progress of one partition: next `offset`, its leader epoch, and whether it may fetch.

    `lag`: distance to the leader's high watermark after its last fetch, -1 before.
    """

    __slots__ = ("delayed_until_ms", "lag", "last_fetched_epoch", "leader_epoch", "offset", "truncating")

    def __init__(
        self, offset: Offset, leader_epoch: LeaderEpoch, last_fetched_epoch: LeaderEpoch, *, truncating: bool
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.truncating = truncating
        self.delayed_until_ms = -1.0
        self.lag = -1


class Followed:
    """The partitions that a fetcher copies from `source` (a broker id).

    `requested`: offset and leader epoch of each partition in the request under way. A response counts only for
    partitions that are unchanged.
    """

    def __init__(self, context: BrokerContext, replicas: Replicas, source: BrokerId) -> None:
        self.context = context
        self.replicas = replicas
        self.source = source
        self.states: dict[TopicPartition, FetchState] = {}
        self.requested: dict[TopicPartition, tuple[Offset, LeaderEpoch]] = {}

    def add(self, topic_partition: TopicPartition, state: FetchState) -> None:
        self.states[topic_partition] = state
        self.say(topic_partition, "added", state.offset, epoch=state.leader_epoch)

    def remove(self, topic_partition: TopicPartition) -> None:
        state = self.states.pop(topic_partition, None)
        if state is not None:
            self.say(topic_partition, "removed", NO_OFFSET, epoch=state.leader_epoch)

    def ready(self, now_ms: float) -> list[tuple[TopicPartition, FetchState]]:
        """Partitions that do not wait after an error."""
        return [
            (topic_partition, state)
            for topic_partition, state in self.states.items()
            if state.delayed_until_ms <= now_ms
        ]

    def delay(self, topic_partitions: list[TopicPartition], reason: str) -> None:
        """Delay partitions by the backoff."""
        now_ms = self.context.now.mono_ms
        until_ms = now_ms + self.context.settings.replica_fetch_backoff_ms
        for topic_partition in topic_partitions:
            state = self.states.get(topic_partition)
            if state is not None and state.delayed_until_ms <= now_ms:
                state.delayed_until_ms = until_ms
                self.move_to_end(topic_partition)
                self.say(topic_partition, "delayed", state.offset, reason, state.leader_epoch)

    def move_to_end(self, topic_partition: TopicPartition) -> None:
        """Move a partition to the end of the next request.

        So none starves where a response cannot hold all (PartitionStates.updateAndMoveToEnd).
        """
        if self.context.gates.served_partitions_move_to_end and topic_partition in self.states:
            self.states[topic_partition] = self.states.pop(topic_partition)

    def fenced(self, topic_partition: TopicPartition, request_epoch: LeaderEpoch) -> None:
        """Handle fencing (2.2): with its present epoch wait for LeaderAndIsr, otherwise retry later."""
        if request_epoch == self.states[topic_partition].leader_epoch:
            self.fail(topic_partition, "FENCED_LEADER_EPOCH")
        else:
            self.delay([topic_partition], "FENCED_LEADER_EPOCH")

    def fail(self, topic_partition: TopicPartition, reason: str) -> None:
        """Drop a partition until the next LeaderAndIsr."""
        state = self.states.pop(topic_partition)
        self.say(topic_partition, "failed", state.offset, reason, state.leader_epoch)

    def say(
        self,
        topic_partition: TopicPartition,
        change: str,
        offset: Offset,
        reason: str = "",
        epoch: LeaderEpoch = EPOCH_UNKNOWN,
    ) -> None:
        """Emit an event about a partition."""
        self.context.emit(FetcherChanged(*topic_partition, change, self.source, offset, reason, epoch))
