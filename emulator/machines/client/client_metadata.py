"""A client's metadata: brokers and leaders, and their refresh.

The client refreshes them on `request_update`, on a lost connection, and every `metadata.max.age.ms`, but never more
often than every `retry.backoff.ms`. Any broker serves the request, so the metadata are *some* broker's view.
Clients from 2.2 on reject a leader of an older epoch than the newest known one. That epoch came with metadata or,
at consumers, with an offset (semantics 6; Kafka's Metadata.lastSeenLeaderEpochs).
"""

from collections.abc import Collection, Sequence

from emulator.machines.client.client_settings import ClientSettings
from emulator.machines.client.client_state import Failure, Leader
from emulator.machines.client.connections import BrokerConnections
from emulator.machines.client.deadlines import NEVER, is_due
from protocol.ids import EPOCH_UNKNOWN, BrokerId, LeaderEpoch, TopicPartition
from protocol.machine import Now
from protocol.messages.leadership_messages import MetadataRequest, MetadataResponse, PartitionMetadata
from protocol.messages.message_base import Message
from protocol.outbox import Outbox

TOPICS_MAX = 10_000


class _Partition:
    __slots__ = ("epoch", "leader", "offline", "replicas")

    def __init__(
        self, leader: BrokerId, epoch: LeaderEpoch, replicas: Collection[int], offline: Collection[int]
    ) -> None:
        self.leader = leader
        self.epoch = epoch
        self.replicas = replicas
        self.offline = offline


class MetadataCache:
    """A client's metadata. `brokers`: nodes before the first response (`bootstrap.servers`)."""

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
        self._newest_epochs: dict[TopicPartition, LeaderEpoch] = {}
        self._update_wanted = False
        self._under_way = False
        self._sent_ms = -NEVER
        self._updated_ms = -NEVER
        self._choices: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.version = 0
        """Count of accepted responses."""

    def want_topic(self, topic: str) -> None:
        """Request `topic`'s metadata from now on. Raises ValueError beyond TOPICS_MAX."""
        if topic not in self._topics:
            if len(self._topics) >= TOPICS_MAX:
                raise ValueError(f"a client knows at most {TOPICS_MAX} topics")
            self._topics.add(topic)
            self._update_wanted = True

    def request_update(self) -> None:
        """Request fresh metadata: the present ones are wrong, or incomplete."""
        self._update_wanted = True

    def knows(self, topic: str, partition: int) -> bool:
        """Whether the partition was in a response; it may have no leader."""
        return (topic, partition) in self._partitions

    def choices(self, topic: str) -> tuple[int, tuple[int, ...]] | None:
        """Number of a topic's partitions, and the numbers of those with a leader; None: unknown."""
        if topic not in self._choices:
            numbers = sorted(partition for of, partition in self._partitions if of == topic)
            if not numbers:
                return None
            led = tuple(number for number in numbers if self.leader(topic, number) is not None)
            self._choices[topic] = (len(numbers), led)
        return self._choices[topic]

    def leader(self, topic: str, partition: int) -> Leader | None:
        """The leader and its node; None if there is none, or its node is unknown."""
        known = self._partitions.get((topic, partition))
        if known is None or known.leader not in self._nodes:
            return None
        return Leader(known.leader, self._nodes[known.leader], known.epoch)

    def current_leader(self, topic: str, partition: int) -> Leader | None:
        """The leader for a consumer: None while it is not of the newest known epoch."""
        leader = self.leader(topic, partition)
        newest = self._newest_epochs.get((topic, partition))
        return None if leader is None or newest not in (None, leader.epoch) else leader

    def online(self, topic: str, partition: int, broker: BrokerId, *, of_replicas: bool) -> str | None:
        """The node of a replica (Cluster.nodeIfOnline); None: it is offline, or unknown.

        `of_replicas`: or no replica of the partition any more (from 3.3.2 on).
        """
        known = self._partitions.get((topic, partition))
        if known is None or broker in known.offline or (of_replicas and broker not in known.replicas):
            return None
        return self._nodes.get(broker)

    def epoch(self, topic: str, partition: int) -> LeaderEpoch:
        """The newest known leader epoch, -1 unknown."""
        return self._newest_epochs.get((topic, partition), EPOCH_UNKNOWN)

    def note_epoch(self, topic: str, partition: int, epoch: LeaderEpoch) -> None:
        """Note the epoch of an offset (-1: none); one newer than the metadata's requests fresh ones."""
        topic_partition = (topic, partition)
        has_epoch = topic_partition in self._newest_epochs or self._settings.first_epoch_may_come_with_an_offset
        if self._settings.rejects_older_epochs and has_epoch and epoch > self.epoch(*topic_partition):
            self._newest_epochs[topic_partition] = epoch
            self._update_wanted = True

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes for the next request: the last response's brokers, else the bootstrap nodes."""
        return tuple(self._nodes.values()) or self._bootstrap

    def poll(self, now: Now, out: Outbox) -> None:
        """Send a request if it is time to."""
        if self._under_way or not self._topics or not is_due(now, self._ask_at_ms()):
            return
        node = self._connections.least_loaded(now, self.nodes)
        if node is None or self._connections.waits_for_another(node) or not self._connections.ready(now, out, node):
            return
        self._under_way = True
        self._sent_ms = now.mono_ms
        self._update_wanted = False
        request = MetadataRequest(sorted(self._topics))
        wait_ms = self._settings.request_timeout_ms
        self._connections.send(now, out, node, request, wait_ms=wait_ms, answered=self._answered)

    def next_at_ms(self) -> float:
        """Time of possible work for `poll` (mono_ms); the connections have their own."""
        if self._under_way or not self._topics:
            return NEVER
        return self._ask_at_ms()

    def _ask_at_ms(self) -> float:
        paused_until_ms = self._sent_ms + self._settings.retry_backoff_ms
        if self._update_wanted:
            return paused_until_ms
        stale_at_ms = self._updated_ms + self._settings.metadata_max_age_ms
        return stale_at_ms if stale_at_ms > paused_until_ms else paused_until_ms

    def _answered(self, now: Now, out: Outbox, answer: Message | Failure) -> None:
        self._under_way = False
        self._sent_ms = now.mono_ms
        if isinstance(answer, Failure):
            self._update_wanted = True
            return
        assert isinstance(answer, MetadataResponse), answer
        if not answer.brokers:
            # A broker without any live broker yet, not even itself, has no metadata worth accepting.
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

    def _take_in(self, metadata: PartitionMetadata, *, reliable: bool) -> None:
        """Update one partition (Metadata.updateLatestMetadata, before 2.6 updatePartitionInfo)."""
        topic_partition = (metadata.topic, metadata.partition)
        epoch = metadata.leader_epoch if reliable else EPOCH_UNKNOWN
        placed = (metadata.replicas, metadata.offline_replicas)
        if not self._settings.rejects_older_epochs:
            self._partitions[topic_partition] = _Partition(metadata.leader, epoch, *placed)
        elif epoch < 0:
            if self._settings.epochless_forgets_all:
                self._newest_epochs.clear()
            self._newest_epochs.pop(topic_partition, None)
            self._partitions[topic_partition] = _Partition(metadata.leader, EPOCH_UNKNOWN, *placed)
        elif epoch >= self.epoch(*topic_partition):
            self._newest_epochs[topic_partition] = epoch
            self._partitions[topic_partition] = _Partition(metadata.leader, epoch, *placed)
        elif self._settings.rejected_hides_leader and topic_partition in self._partitions:
            known = self._partitions[topic_partition]
            self._partitions[topic_partition] = _Partition(known.leader, epoch, known.replicas, known.offline)

    def _forget(self, topic: str) -> None:
        """Forget a topic that the broker does not know.

        Its epochs stay, and count against a topic of the same name, until topics have ids (2.8;
        Metadata.updateLatestMetadata, KAFKA-12257).
        """
        for topic_partition in [topic_partition for topic_partition in self._partitions if topic_partition[0] == topic]:
            del self._partitions[topic_partition]
            if self._settings.knows_topic_ids:
                self._newest_epochs.pop(topic_partition, None)
