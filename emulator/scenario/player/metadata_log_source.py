"""Observation of a KRaft cluster's metadata log: a source of the player's metadata view.

Every controller pushes its state in the quorum and the batches that it knows as committed. The newest committed offset
of any controller counts; each batch is applied once.
"""

from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from controller.kraft.metadata_image import MetadataImage, PartitionRegistration
from emulator.scenario.player.metadata_view import MetadataView
from emulator.topology import Topology
from protocol.ids import BrokerId, ControllerEpoch, Offset, topic_partition_text
from protocol.machine import Now
from protocol.messages.kraft_messages import CommittedBatch, ObserveQuorumRequest, QuorumObserved
from protocol.messages.message_base import Message
from protocol.records.metadata_codec import decode_metadata_record
from protocol.records.metadata_records import (
    BROKER_CONFIG,
    TOPIC_CONFIG,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    UnregisterBrokerRecord,
)
from protocol.records.schema_fields import UnreadableRecord
from protocol.znodes import EVERY_BROKER, Leadership, broker_config_path, topic_config_path

PARTITION_STATE, REGISTRATION, QUORUM_EPOCH, QUORUM_VIEW = (
    "partition-state", "registration", "quorum-epoch", "quorum-view",
)  # fmt: skip
"""Kinds of entries for `noted`."""

STATES_MAX = 256
"""Of a partition, states that no broker has shown yet."""

Noted = Callable[[Now, str, dict[str, Any]], None]
"""Receives each committed change once, in order: its kind, and its entry in a recording."""


class MetadataLogSource:
    """Applies the controllers' reports to `view`.

    `noted` receives every committed change of a partition or a broker's registration, the beginning of each quorum
    epoch, and every change of a controller's own view. `refused(node, reason)`: for records that cannot be applied.
    """

    def __init__(
        self, topology: Topology, view: MetadataView, noted: Noted, refused: Callable[[str, str], None]
    ) -> None:
        self._numbers = {node.name: node.number for node in topology.with_role("controller")}
        self.nodes = tuple(self._numbers)
        self._view = view
        self._noted = noted
        self._refused = refused
        self._image = MetadataImage()
        self.shown: dict[str, Leadership] = {}
        """{partition: its newest state that a broker's own metadata show}.

        The recordings' script saw it so.
        """
        self._not_shown: dict[str, deque[Leadership]] = {}
        self._quorum: dict[str, QuorumObserved] = {}
        """{controller: its last report}"""

    @property
    def image(self) -> MetadataImage:
        """The committed state."""
        return self._image

    def request(self) -> Message:
        return ObserveQuorumRequest()

    def take(self, now: Now, node: str, message: Message) -> set[str] | None:
        """Kinds of data that changed; None: not a message of this source."""
        if not isinstance(message, QuorumObserved):
            return None
        what = self._reported(now, node, message)
        for batch in message.batches:
            if batch.end <= self._image.next_offset:
                continue  # another controller's report had it
            try:
                what |= self._apply(now, batch)
            except (UnreadableRecord, ValueError) as error:
                self._refused(node, f"metadata log at {batch.base_offset}: {error}")
        if "states" in what:  # a broker may have shown them before this report came
            self.brokers_changed()
        return what

    def lost(self, now: Now, node: str) -> set[str]:
        """The connection to a controller has ended."""
        if self._quorum.pop(node, None) is None:
            return set()
        self._noted(now, QUORUM_VIEW, {"controller": self._numbers[node], "error": "ConnectionRefusedError"})
        return self._controller_of_quorum()

    def brokers_changed(self) -> None:
        """Some broker's own metadata have changed."""
        for metadata in self._view.metadata.values():
            for one in metadata.partitions:
                name = topic_partition_text(one.topic, one.partition)
                waiting = self._not_shown.get(name, ())
                for place in range(len(waiting) - 1, -1, -1):
                    if (waiting[place].leader_epoch, list(waiting[place].isr)) == (one.leader_epoch, list(one.isr)):
                        self.shown[name] = waiting[place]
                        self._not_shown[name] = deque(list(waiting)[place + 1 :], STATES_MAX)
                        break

    # --- the quorum ---

    def _reported(self, now: Now, node: str, message: QuorumObserved) -> set[str]:
        before = self._quorum.get(node)
        self._quorum[node] = message
        view = quorum_view(self._numbers[node], message)
        if before is None or quorum_view(self._numbers[node], before) != view:
            self._noted(now, QUORUM_VIEW, view)
        return self._controller_of_quorum()

    def _controller_of_quorum(self) -> set[str]:
        """The active controller of the highest epoch: an isolated one may be active by its own view."""
        view = self._view
        active = [(report.epoch, report.node, node) for node, report in self._quorum.items() if report.active]
        view.serving = {node for _, _, node in active}
        epoch, controller, _ = max(active, default=(view.controller_epoch, None, ""))
        if (view.controller, view.controller_epoch) == (controller, epoch):
            return set()
        view.controller = None if controller is None else BrokerId(controller)
        view.controller_epoch = epoch
        return {"controller"}

    # --- the log ---

    def _apply(self, now: Now, batch: CommittedBatch) -> set[str]:
        if batch.is_snapshot:
            before_snapshot = dict(self._states())
            self._image.clear()
            for name in before_snapshot:  # the snapshot's records bring back what is still there
                for states in (self._view.states, self.shown, self._not_shown, self._view.assignments):
                    states.pop(name, None)
        elif batch.base_offset > self._image.next_offset:
            raise ValueError(f"records from {self._image.next_offset} on are missing")
        what: set[str] = set()
        records = [decode_metadata_record(value) for value in batch.values]
        if batch.epoch > self._image.epoch:
            self._noted(now, QUORUM_EPOCH, {"offset": batch.base_offset, "epoch": batch.epoch})
            self._image.epoch = batch.epoch
        for index, record in enumerate(records):
            offset = Offset(batch.end - 1 if batch.is_snapshot else batch.base_offset + index)
            before = dict(self._states()) if isinstance(record, ClearElrRecord | RemoveTopicRecord) else {}
            self._image.apply(record, offset)
            what |= self._applied(now, record, {"offset": offset, "epoch": batch.epoch}, before)
        self._image.next_offset = Offset(batch.end)
        return what

    def _states(self) -> Iterator[tuple[str, PartitionRegistration]]:
        for topic, number, state in self._image.partitions():
            yield topic_partition_text(topic.topic, number), state

    def _applied(
        self, now: Now, record: MetadataRecord, where: dict[str, Any], before: dict[str, PartitionRegistration]
    ) -> set[str]:
        """Kinds of data that a record changed, after it was applied.

        `before`: all states before it, if needed.
        """
        match record:
            case PartitionRecord(topic_id=topic_id) | PartitionChangeRecord(topic_id=topic_id):
                topic = self._image.topic_names[topic_id]
                state = self._image.partition(topic, record.partition)
                assert state is not None, "an applied record's partition"
                self._partition(now, topic_partition_text(topic, record.partition), state, where)
                return {"states"}
            case ClearElrRecord():
                for name, state in self._states():
                    if before.get(name) != state:
                        self._partition(now, name, state, where)
                return {"states"}
            case RemoveTopicRecord():
                for name in before.keys() - dict(self._states()).keys():
                    of_partitions: tuple[MutableMapping[str, Any], ...] = (
                        self._view.states, self.shown, self._not_shown,
                    )  # fmt: skip
                    for states in of_partitions:
                        states.pop(name, None)
                    self._view.assignments.pop(name, None)
                return {"states"}
            case RegisterBrokerRecord() | BrokerRegistrationChangeRecord() | UnregisterBrokerRecord():
                return self._registration(now, record, where)
            case ConfigRecord(kind=kind, name=name):
                self._configured(kind, name)
        return set()

    def _partition(self, now: Now, name: str, state: PartitionRegistration, where: dict[str, Any]) -> None:
        epoch = ControllerEpoch(where["epoch"])
        self._view.states[name] = Leadership(
            state.leader, state.leader_epoch, state.isr, epoch, state.partition_epoch, state.recovering
        )
        self._view.assignments[name] = state.replicas
        self._not_shown.setdefault(name, deque(maxlen=STATES_MAX)).append(self._view.states[name])
        entry = {
            **where, "leader": state.leader, "leader_epoch": state.leader_epoch, "isr": list(state.isr),
            "partition_epoch": state.partition_epoch, "elr": list(state.elr),
            "last_known_elr": list(state.last_known_elr), "recovering": state.recovering, "partition": name,
        }  # fmt: skip
        self._noted(now, PARTITION_STATE, entry)

    def _registration(
        self, now: Now, record: RegisterBrokerRecord | BrokerRegistrationChangeRecord | UnregisterBrokerRecord,
        where: dict[str, Any],
    ) -> set[str]:  # fmt: skip
        entry = {**where, "broker": record.broker, "broker_epoch": record.epoch}
        match record:
            case RegisterBrokerRecord():
                self._view.racks[record.broker] = record.rack
                self._noted(now, REGISTRATION, {**entry, "what": "registered", "fenced": record.fenced})
            case UnregisterBrokerRecord():
                self._noted(now, REGISTRATION, {**entry, "what": "unregistered"})
            case BrokerRegistrationChangeRecord():
                if record.fenced:
                    self._noted(now, REGISTRATION, {**entry, "what": "fenced" if record.fenced > 0 else "unfenced"})
                if record.in_controlled_shutdown > 0:
                    self._noted(now, REGISTRATION, {**entry, "what": "in-controlled-shutdown"})
        self._view.live = frozenset(self._image.unfenced)
        return {"live"}

    def _configured(self, kind: int, name: str) -> None:
        """Settings under the paths that they have in ZooKeeper."""
        if kind not in (TOPIC_CONFIG, BROKER_CONFIG):
            return
        path = topic_config_path(name) if kind == TOPIC_CONFIG else broker_config_path(name or EVERY_BROKER)
        settings = self._image.configs.get((kind, name), {})
        if settings:
            self._view.configs[path] = dict(settings)
        else:
            self._view.configs.pop(path, None)


def quorum_view(number: int, report: QuorumObserved) -> dict[str, Any]:
    """Response to DescribeQuorum: the leader's epoch, or error 6 (NOT_LEADER_OR_FOLLOWER)."""
    if report.state == "leader":
        return {"controller": number, "leader": report.node, "epoch": report.epoch}
    return {"controller": number, "error": 6}
