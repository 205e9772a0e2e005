"""What a client believes about brokers and leaders, and how it asks again.

Asked when something proves wrong (`request_update`), when a connection is lost, and every
`metadata.max.age.ms`; never more often than every `retry.backoff.ms`. Any broker will do, so what is known is
what *some* broker believed. Clients from 2.2 on do not believe a leader of an older epoch than one they have
heard of, from metadata or, as consumers, with an offset (semantics 6; Kafka's Metadata.lastSeenLeaderEpochs).
"""

from collections.abc import Sequence

from emulator.machines.client.client_settings import ClientSettings
from emulator.machines.client.connections import BrokerConnections
from emulator.machines.client.deadlines import NEVER, is_due
from emulator.machines.client.failure import Failure
from emulator.machines.client.leader import Leader
from protocol.ids import EPOCH_UNKNOWN, BrokerId, LeaderEpoch, TopicPartition
from protocol.machine import Now
from protocol.messages.base import Message
from protocol.messages.leadership import MetadataRequest, MetadataResponse, PartitionMetadata
from protocol.outbox import Outbox

TOPICS_MAX = 10_000


class _Partition:
    __slots__ = ("epoch", "leader")

    def __init__(self, leader: BrokerId, epoch: LeaderEpoch) -> None:
        self.leader = leader
        self.epoch = epoch


class MetadataCache:
    """A client's metadata. `brokers`: nodes to ask before the first answer (`bootstrap.servers`)."""

    def __init__(
        self, brokers: Sequence[str], connections: BrokerConnections, settings: ClientSettings
    ) -> None:
        assert brokers, "a client needs a broker to ask"
        self._bootstrap = tuple(brokers)
        self._connections = connections
        self._settings = settings
        self._topics: set[str] = set()
        self._nodes: dict[BrokerId, str] = {}
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._epochs_heard: dict[TopicPartition, LeaderEpoch] = {}
        self._update_wanted = False
        self._under_way = False
        self._asked_ms = -NEVER
        self._updated_ms = -NEVER
        self._choices: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.version = 0
        """Counts the answers taken in."""

    def want_topic(self, topic: str) -> None:
        """Ask about `topic` from now on. Raises ValueError beyond TOPICS_MAX."""
        if topic not in self._topics:
            if len(self._topics) >= TOPICS_MAX:
                raise ValueError(f"a client knows at most {TOPICS_MAX} topics")
            self._topics.add(topic)
            self._update_wanted = True

    def request_update(self) -> None:
        """What is known proved wrong, or is not enough."""
        self._update_wanted = True

    def knows(self, topic: str, partition: int) -> bool:
        """Whether the partition was in an answer; it may have no leader."""
        return (topic, partition) in self._partitions

    def choices(self, topic: str) -> tuple[int, tuple[int, ...]] | None:
        """How many partitions a topic has, and the numbers of those with a leader; None while nobody said."""
        if topic not in self._choices:
            numbers = sorted(partition for of, partition in self._partitions if of == topic)
            if not numbers:
                return None
            led = tuple(number for number in numbers if self.leader(topic, number) is not None)
            self._choices[topic] = (len(numbers), led)
        return self._choices[topic]

    def leader(self, topic: str, partition: int) -> Leader | None:
        """The leader to talk to; None if there is none, or nobody said where it is."""
        known = self._partitions.get((topic, partition))
        if known is None or known.leader not in self._nodes:
            return None
        return Leader(known.leader, self._nodes[known.leader], known.epoch)

    def current_leader(self, topic: str, partition: int) -> Leader | None:
        """The same for a consumer: none, either, while what is known is not of the newest epoch heard of."""
        leader = self.leader(topic, partition)
        heard = self._epochs_heard.get((topic, partition))
        return None if leader is None or heard not in (None, leader.epoch) else leader

    def epoch(self, topic: str, partition: int) -> LeaderEpoch:
        """The newest leader epoch heard of, -1 unknown."""
        return self._epochs_heard.get((topic, partition), EPOCH_UNKNOWN)

    def heard_of(self, topic: str, partition: int, epoch: LeaderEpoch) -> None:
        """An offset came with this epoch (-1: none). A newer one than metadata have told asks for fresh ones."""
        topic_partition = (topic, partition)
        told = topic_partition in self._epochs_heard or self._settings.first_epoch_may_come_with_an_offset
        if self._settings.rejects_older_epochs and told and epoch > self.epoch(*topic_partition):
            self._epochs_heard[topic_partition] = epoch
            self._update_wanted = True

    @property
    def nodes(self) -> tuple[str, ...]:
        """Whom to ask: the brokers of the last answer, else those the client was given."""
        return tuple(self._nodes.values()) or self._bootstrap

    def poll(self, now: Now, out: Outbox) -> None:
        """Ask if it is time to."""
        if self._under_way or not self._topics or not is_due(now, self._ask_at_ms()):
            return
        node = self._connections.least_loaded(now, self.nodes)
        if node is None or self._connections.waits_for_another(node) or not self._connections.ready(now, out, node):
            return
        self._under_way = True
        self._asked_ms = now.mono_ms
        self._update_wanted = False
        request = MetadataRequest(sorted(self._topics))
        wait_ms = self._settings.request_timeout_ms
        self._connections.send(now, out, node, request, wait_ms=wait_ms, answered=self._answered)

    def next_at_ms(self) -> float:
        """When `poll` may have something to do (mono_ms). Waiting for a connection is the connections'
        matter.
        """
        if self._under_way or not self._topics:
            return NEVER
        return self._ask_at_ms()

    def _ask_at_ms(self) -> float:
        stale_at = -NEVER if self._update_wanted else self._updated_ms + self._settings.metadata_max_age_ms
        return max(stale_at, self._asked_ms + self._settings.retry_backoff_ms)

    def _answered(self, now: Now, out: Outbox, answer: Message | Failure) -> None:
        self._under_way = False
        self._asked_ms = now.mono_ms
        if isinstance(answer, Failure):
            self._update_wanted = True
            return
        assert isinstance(answer, MetadataResponse), answer
        if not answer.brokers:
            # A broker that knows nobody yet, not even itself, knows nothing worth believing.
            self._update_wanted = True
            return
        self._updated_ms = now.mono_ms
        self._choices.clear()
        self._nodes = {endpoint.broker: endpoint.node for endpoint in answer.brokers}
        for partition in answer.partitions:
            if partition.partition < 0:
                self._forget(partition.topic)
            else:
                self._take_in(partition, reliable=answer.reliable_epochs or not self._settings.needs_reliable_epochs)
        self.version += 1

    def _take_in(self, told: PartitionMetadata, *, reliable: bool) -> None:
        """What a broker says of one partition (Metadata.updateLatestMetadata, before 2.6 updatePartitionInfo)."""
        topic_partition = (told.topic, told.partition)
        epoch = told.leader_epoch if reliable else EPOCH_UNKNOWN
        if not self._settings.rejects_older_epochs:
            self._partitions[topic_partition] = _Partition(told.leader, epoch)
        elif epoch < 0:
            if self._settings.epochless_forgets_all:
                self._epochs_heard.clear()
            self._epochs_heard.pop(topic_partition, None)
            self._partitions[topic_partition] = _Partition(told.leader, EPOCH_UNKNOWN)
        elif epoch >= self.epoch(*topic_partition):
            self._epochs_heard[topic_partition] = epoch
            self._partitions[topic_partition] = _Partition(told.leader, epoch)
        elif self._settings.rejected_hides_leader and topic_partition in self._partitions:
            self._partitions[topic_partition] = _Partition(self._partitions[topic_partition].leader, epoch)

    def _forget(self, topic: str) -> None:
        """Who answered knows no such topic. What was heard of its epochs stays, and holds against a topic of the same
        name, until topics have ids (2.8; Metadata.updateLatestMetadata, KAFKA-12257)."""
        for topic_partition in [topic_partition for topic_partition in self._partitions if topic_partition[0] == topic]:
            del self._partitions[topic_partition]
            if self._settings.knows_topic_ids:
                self._epochs_heard.pop(topic_partition, None)
