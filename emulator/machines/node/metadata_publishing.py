"""Publication of the metadata log to a broker's parts. Kraft-semantics 4.

    committed batches -> image -> a delta: settings, metadata cache, deletions, leaders, followers

The image takes every batch at once. While a delta is executed, later batches wait in the image, and make one delta
together. Nothing is published before the broker has read up to the high watermark, up to 3.4 before it has caught up
with its own registration.

Source: MetadataLoader, BrokerMetadataPublisher.
"""

from collections.abc import Sequence
from typing import NamedTuple

from controller.kraft.metadata_image import ALL_BROKERS, MetadataImage, PartitionRegistration
from emulator.machines.broker.broker import Broker
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.metadata_deltas import LocalChanges
from emulator.machines.broker.settings import shown
from protocol.events import TopicConfigured
from protocol.ids import (
    LEADER_DURING_DELETE,
    NO_BROKER,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    Offset,
    TopicPartition,
)
from protocol.messages.leadership_messages import BrokerEndpoint, PartitionState, UpdateMetadataRequest
from protocol.records.metadata_records import BROKER_CONFIG, TOPIC_CONFIG, MetadataBatch, NoOpRecord
from protocol.work import Work
from protocol.znodes import EVERY_BROKER

Place = tuple[int, str]


class _Published(NamedTuple):
    """A partition as it was last published."""

    topic_id: str
    state: PartitionRegistration


class MetadataPublishing:
    """Publication to one broker."""

    def __init__(self, context: BrokerContext, broker: Broker) -> None:
        self._context = context
        self._broker = broker
        self.image = MetadataImage()
        self._leader = NO_BROKER
        self._epoch = LeaderEpoch(0)
        self._partitions: dict[TopicPartition, _Published] = {}
        self._endpoints: dict[BrokerId, BrokerEndpoint] = {}
        self._configs: dict[Place, dict[str, str]] = {}
        self._began = False
        self._has_records = False
        self._changed = False
        self._busy = False

    @property
    def offset(self) -> Offset:
        """The last offset that the broker has applied; -1: none."""
        return Offset(self.image.next_offset - 1)

    @property
    def has_records(self) -> bool:
        """Whether the image has any record of a controller.

        Source: MetadataBatchLoader.hasSeenRecord.
        """
        return self._has_records

    @property
    def topic_configs(self) -> dict[str, dict[str, str]]:
        """{topic: its own settings}, by the image."""
        return {name: dict(own) for (kind, name), own in self.image.configs.items() if kind == TOPIC_CONFIG}

    def leader_changed(self, leader: BrokerId, epoch: LeaderEpoch) -> None:
        """Note the quorum's leader, for the events of orders."""
        self._leader, self._epoch = leader, epoch

    def committed(self, batches: Sequence[MetadataBatch]) -> None:
        """Apply committed batches, and publish them as one delta."""
        for batch in batches:
            self.image.apply_batch(batch)
            self._has_records = self._has_records or bool(batch.records)
            if batch.is_snapshot:
                self._changed = True
            if not self._changed:
                self._changed = any(not isinstance(record, NoOpRecord) for record in batch.records)
        self._context.registrations = self.image.brokers
        self._publish()

    def begin(self) -> None:
        """Publish the image from now on: the broker has loaded its logs."""
        me = self._context.broker
        self._configs = {(TOPIC_CONFIG, topic): own for topic, own in self.topic_configs.items()}
        self._broker.replicas.delete_strays({
            (topic.topic, number): topic.topic_id
            for topic, number, state in self.image.partitions()
            if me in state.replicas
        })
        self._began = self._changed = True
        self._publish()

    def _publish(self) -> None:
        if self._began and self._changed and not self._busy:
            self._busy = True
            self._context.threads.start("metadata-publisher", "publish", self._publish_all(), self._published)

    def _published(self, result: None) -> None:
        self._busy = False

    def _publish_all(self) -> Work[None]:
        while self._changed and not self._broker.replicas.failed:
            self._changed = False
            self._publish_configs()
            update, changes = self._delta()
            deleted: list[TopicPartition] = []
            if update is not None:
                deleted = self._broker.metadata.update(update)
            if changes.deletes or changes.leaders or changes.followers:
                yield from self._broker.deltas.apply(changes)
            if deleted:
                yield from self._broker.deltas.forget(deleted)

    # --- settings ---

    def _publish_configs(self) -> None:
        """Publish changed settings. A topic's come before its partitions, whose new logs need them."""
        for place in sorted({*self._configs, *self.image.configs}):
            now = dict(self.image.configs.get(place, {}))
            if now == self._configs.get(place, {}):
                continue
            if now:
                self._configs[place] = now
            else:
                del self._configs[place]
            kind, name = place
            if kind == BROKER_CONFIG:
                self._broker.dynamic.changed(EVERY_BROKER if name == ALL_BROKERS else name, now)
            elif kind == TOPIC_CONFIG:
                self._broker.dynamic.topic_configured(name)
                self._broker.replicas.configure(name, now)
                self._context.emit(TopicConfigured(name, shown(now)))
        self._broker.dynamic.begun()

    # --- partitions ---

    def _delta(self) -> tuple[UpdateMetadataRequest | None, LocalChanges]:
        """The difference to what was last published: for the metadata cache, and for the replicas."""
        me, image = self._context.broker, self.image
        nodes = {broker: known.node for broker, known in image.brokers.items()}
        changes = LocalChanges([], [], [], nodes, (self._leader, self._controller_epoch, -1))
        states: list[PartitionState] = []
        known = {
            (topic.topic, number): _Published(topic.topic_id, state) for topic, number, state in image.partitions()
        }
        for topic_partition, before in self._partitions.items():
            after = known.get(topic_partition)
            if after is None or after.topic_id != before.topic_id:
                states.append(self._state(topic_partition, before, LEADER_DURING_DELETE))
                if me in before.state.replicas:
                    changes.deletes.append(topic_partition)
        for topic_partition, after in known.items():
            previous = self._partitions.get(topic_partition)
            if previous is not None and previous.topic_id != after.topic_id:
                previous = None
            if previous == after:
                continue
            state = self._state(topic_partition, after, after.state.leader, is_new=previous is None)
            states.append(state)
            if me not in after.state.replicas:
                if previous is not None and me in previous.state.replicas:
                    changes.deletes.append(topic_partition)
            elif after.state.leader == me:
                changes.leaders.append(state)
            else:
                changes.followers.append(state)
        endpoints = {
            broker: BrokerEndpoint(broker, one.node, one.rack) for broker, one in sorted(image.unfenced.items())
        }
        update: UpdateMetadataRequest | None = None
        if states or endpoints != self._endpoints:
            update = UpdateMetadataRequest(self._leader, self._controller_epoch, states, list(endpoints.values()))
        self._partitions, self._endpoints = known, endpoints
        return update, changes

    @property
    def _controller_epoch(self) -> ControllerEpoch:
        return ControllerEpoch(max(self._epoch, self.image.epoch))

    def _state(
        self, topic_partition: TopicPartition, of: _Published, leader: BrokerId, *, is_new: bool = False
    ) -> PartitionState:
        state = of.state
        return PartitionState(
            *topic_partition, self._controller_epoch, leader, state.leader_epoch, list(state.isr),
            state.partition_epoch, list(state.replicas), is_new, list(state.adding), list(state.removing),
            topic_id=of.topic_id,
        )  # fmt: skip
