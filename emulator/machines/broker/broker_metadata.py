"""A broker's metadata for clients: the last UpdateMetadata. Semantics 1.7, 11.12.

Only LeaderAndIsr changes leadership itself, so a broker may advertise one leader and act as another.
"""

from collections import Counter
from collections.abc import Callable

from emulator.machines.broker.broker_context import BrokerContext
from emulator.topology import DEDICATED_FROM, node_name
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.events import MetadataChanged, ids_text
from protocol.ids import (
    EPOCH_UNKNOWN,
    LEADER_DURING_DELETE,
    NO_BROKER,
    NO_LEADER,
    BrokerId,
    TopicPartition,
    can_be_topic,
)
from protocol.messages.leadership_messages import (
    BrokerEndpoint,
    MetadataObserved,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    PartitionState,
    UpdateMetadataRequest,
)


class MetadataCache:
    """Metadata of a broker. `controller` -1: unknown. `live`: brokers by id."""

    def __init__(self, context: BrokerContext) -> None:
        self._context = context
        self.controller = NO_BROKER
        self.live: dict[BrokerId, BrokerEndpoint] = {}
        self.partitions: dict[TopicPartition, PartitionState] = {}
        self._counts: Counter[str] = Counter()
        """{topic: number of its partitions}"""
        self._observers: set[int] = set()
        self.waiting: list[Callable[[], None]] = []
        """Callbacks after each update; each removes itself when its wait ends."""
        self._emitted: dict[TopicPartition, tuple[int, int, int, str, str]] = {}
        self.chance = Chance(0)
        """Chance of the controllers that responses name in KRaft; a life's seed replaces it."""
        self._observable = True
        self._shown_live = ""

    def hide(self) -> None:
        """Inform no observer until `show`.

        A starting broker of KRaft accepts no client's connection either.
        """
        self._observable = False

    def show(self) -> None:
        """Inform observers from now on."""
        if not self._observable:
            self._observable = True
            self._push_all()

    def update(self, request: UpdateMetadataRequest) -> list[TopicPartition]:
        """Apply a controller's update; returns the partitions being deleted."""
        self.controller = request.controller
        self.live = self._context.live = {broker.broker: broker for broker in request.live_brokers}
        deleted: list[TopicPartition] = []
        forgotten = False
        for state in request.partitions:
            topic_partition = (state.topic, state.partition)
            if state.leader == LEADER_DURING_DELETE:
                deleted.append(topic_partition)
                self._emitted.pop(topic_partition, None)
                if self.partitions.pop(topic_partition, None) is not None:
                    forgotten = True
                    self._counts[state.topic] -= 1
                    live = ids_text(sorted(self.live))
                    fields = (self.controller, LEADER_DURING_DELETE, state.leader_epoch, ids_text(state.isr), live)
                    self._emit(state, fields)
            else:
                self._counts[state.topic] += topic_partition not in self.partitions
                self.partitions[topic_partition] = state
        self._report_changes(forgotten)
        for look in list(self.waiting):
            look()
        return deleted

    def _report_changes(self, changed: bool) -> None:
        """Emit changes and inform observers; `changed`: a partition was removed."""
        live = ids_text(sorted(self.live))
        for topic_partition, state in self.partitions.items():
            fields = (self.controller, state.leader, state.leader_epoch, ids_text(state.isr), live)
            if self._emitted.get(topic_partition) != fields:
                self._emitted[topic_partition] = fields
                changed = True
                self._emit(state, fields)

        if self._context.gates.metadata_from_image:
            changed = changed or live != self._shown_live
        self._shown_live = live
        if changed:
            self._push_all()

    def _emit(self, state: PartitionState, fields: tuple[int, int, int, str, str]) -> None:
        event = MetadataChanged(state.topic, state.partition, *fields, topic_id=state.topic_id)
        event.zk_version = state.zk_version
        self._context.emit(event)

    def observe(self, connection: int) -> None:
        """Add an observer: it receives the metadata now, and after each change."""
        self._observers.add(connection)
        if self._observable:
            self._push(connection)

    def forget(self, connection: int) -> None:
        self._observers.discard(connection)

    def _push_all(self) -> None:
        if self._observable:
            for connection in sorted(self._observers):
                self._push(connection)

    def _push(self, connection: int) -> None:
        context = self._context
        seen = self.answer(MetadataRequest())
        seen.controller = self.controller
        context.out.send(connection, MetadataObserved(context.broker, seen))

    def partition_count(self, topic: str) -> int:
        """Number of a topic's partitions; 0: unknown topic."""
        return self._counts[topic]

    def node_of(self, broker: BrokerId) -> str | None:
        """The node of a live broker."""
        endpoint = self.live.get(broker)
        return endpoint.node if endpoint is not None else None

    def controller_node(self) -> str | None:
        """The controller's node: a live broker's, or that of a dedicated controller (unregistered)."""
        if self.controller >= DEDICATED_FROM:
            return node_name(self.controller)
        return self.node_of(self.controller)

    def answer(self, request: MetadataRequest) -> MetadataResponse:
        """Metadata response; an unknown topic requested by name gets one entry with error 3."""
        gates = self._context.gates
        partitions: list[PartitionMetadata] = []
        lives = self._context.broker in self.live
        unreachable = (
            ErrorCode.LISTENER_NOT_FOUND
            if gates.metadata_takes_itself_for_leader and lives
            else ErrorCode.LEADER_NOT_AVAILABLE
        )
        for (topic, partition), state in sorted(self.partitions.items()):
            if request.topics and topic not in request.topics:
                continue
            reachable = state.leader in self.live
            shows_isr = reachable or gates.metadata_keeps_isr_without_leader
            shows_epoch = gates.metadata_has_leader_epoch and (reachable or gates.metadata_has_epoch_without_leader)
            partitions.append(
                PartitionMetadata(
                    topic,
                    partition,
                    ErrorCode.NONE if reachable else unreachable,
                    state.leader if reachable else NO_LEADER,
                    state.leader_epoch if shows_epoch else EPOCH_UNKNOWN,
                    list(state.isr) if shows_isr else [],
                    list(state.replicas),
                    self._offline_replicas(state),
                )
            )
        known = {topic for topic, _ in self.partitions}
        for topic in dict.fromkeys(request.topics):
            if topic not in known:
                partitions.append(PartitionMetadata(topic, -1, self._unknown(topic)))
        return MetadataResponse(
            self.shown_controller(), list(self.live.values()), partitions, gates.metadata_epochs_reliable
        )

    def shown_controller(self) -> BrokerId:
        """The controller in a response: in KRaft a random unfenced broker, which forwards requests.

        Source: KRaftMetadataCache.getControllerId.
        """
        if not self._context.gates.metadata_from_image:
            return self.controller
        unfenced = list(self.live)
        return unfenced[self.chance.below(len(unfenced))] if unfenced else NO_BROKER

    def _offline_replicas(self, state: PartitionState) -> list[BrokerId]:
        """Offline replicas: those of the controller's update, in KRaft those of fenced brokers."""
        if not self._context.gates.metadata_from_image:
            return list(state.offline_replicas)
        return [broker for broker in state.replicas if broker not in self.live]

    def _unknown(self, topic: str) -> ErrorCode:
        if self._context.gates.metadata_refuses_invalid_names and not can_be_topic(topic):
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
