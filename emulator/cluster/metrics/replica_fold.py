"""Replicas and figures of one node, folded from its own events. Pure.

The figures have the names and the meaning of the machines' own (`broker_metrics`, `controller_metrics`). Events do not
have all of them: MaxLag is missing.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from protocol.ids import EPOCH_UNKNOWN, NO_BROKER, NO_OFFSET, BrokerId, TopicPartition
from protocol.messages.status_messages import PartitionStatus, QuorumStatus

Event = Mapping[str, Any]
QUORUM_LEADER: Final = "leader"
DONE: Final = "done"
UNCLEAN: Final = "unclean-election"
SESSION_METERS: Final = {
    "connected": "ZooKeeperSyncConnectsPerSec.Count",
    "disconnected": "ZooKeeperDisconnectsPerSec.Count",
    "expired": "ZooKeeperExpiresPerSec.Count",
}


def brokers_in_text(text: str) -> list[BrokerId]:
    """`0,2` to [0, 2]."""
    return [BrokerId(int(part)) for part in text.split(",") if part]


class NodeFold(msgspec.Struct):
    """One incarnation of a node.

    `leaders`: of a controller, {partition: leader}, as it wrote or read them.
    """

    roles: tuple[str, ...] = ()
    replicas: dict[TopicPartition, PartitionStatus] = {}
    min_isr: dict[TopicPartition, int] = {}
    offline: set[TopicPartition] = set()
    failed_directories: set[str] = set()
    leaders: dict[TopicPartition, int] = {}
    active: bool = False
    controller_epoch: int = -1
    quorum: QuorumStatus | None = None
    brokers: dict[int, str] = {}
    shrinks: int = 0
    expands: int = 0
    failed: int = 0
    unclean: int = 0
    session: dict[str, int] = {}

    def add(self, event: Event) -> None:
        """Fold one event of this node."""
        name = event["event"]
        if (fold := _FOLDS.get(name)) is not None:
            fold(self, event)

    # --- figures ---

    def metrics(self) -> dict[str, int]:
        """Figures under Kafka's names, by role."""
        of_broker = self._broker_metrics() if "broker" in self.roles else {}
        of_controller = self._controller_metrics() if "controller" in self.roles else {}
        of_session = {meter: self.session.get(meter, 0) for meter in SESSION_METERS.values()}
        return {**of_broker, **of_controller, **(of_session if self.session else {})}

    def _broker_metrics(self) -> dict[str, int]:
        led = [(place, replica) for place, replica in self.replicas.items() if replica.is_leader]
        above = [len(replica.isr) - self.min_isr.get(place, 1) for place, replica in led]
        return {
            "PartitionCount": len(self.replicas) + len(self.offline),
            "LeaderCount": len(led),
            "UnderReplicatedPartitions": sum(len(replica.isr) < len(replica.replicas) for _, replica in led),
            "UnderMinIsrPartitionCount": sum(difference < 0 for difference in above),
            "AtMinIsrPartitionCount": sum(difference == 0 for difference in above),
            "OfflineReplicaCount": len(self.offline),
            "OfflineLogDirectoryCount": len(self.failed_directories),
            "IsrShrinksPerSec.Count": self.shrinks,
            "IsrExpandsPerSec.Count": self.expands,
            "FailedIsrUpdatesPerSec.Count": self.failed,
        }

    def _controller_metrics(self) -> dict[str, int]:
        active = self.is_active
        leaders = self.leaders if active else {}
        figures = {
            "ActiveControllerCount": int(active),
            "OfflinePartitionsCount": sum(leader == NO_BROKER for leader in leaders.values()),
            "GlobalPartitionCount": len(leaders),
            "GlobalTopicCount": len({topic for topic, _ in leaders}),
        }
        if self.quorum is None:
            return figures | {"UncleanLeaderElectionsPerSec.Count": self.unclean}
        fenced = sum(change == "fenced" for change in self.brokers.values()) if active else 0
        return figures | {
            "ActiveBrokerCount": len(self.brokers) - fenced if active else 0,
            "FencedBrokerCount": fenced,
        }

    @property
    def is_active(self) -> bool:
        """Whether it is the active controller, as it believes."""
        if self.quorum is not None:
            return "controller" in self.roles and self.quorum.state == QUORUM_LEADER
        return self.active

    # --- logs ---

    def _log_found(self, event: Event) -> None:
        self._replica(event).log_end = event.get("log_end", 0)
        self._replica(event).log_start = event.get("log_start", 0)
        self._replica(event).high_watermark = event.get("high_watermark", 0)

    def _log_deleted(self, event: Event) -> None:
        self.replicas.pop(_place(event), None)

    def _appended(self, event: Event) -> None:
        self._replica(event).log_end = event["last_offset"] + 1

    def _truncated(self, event: Event) -> None:
        replica = self._replica(event)
        replica.log_end = event["to"]
        replica.high_watermark = min(replica.high_watermark, event["to"])

    def _start_moved(self, event: Event) -> None:
        self._replica(event).log_start = event["log_start"]

    def _high_watermark_moved(self, event: Event) -> None:
        self._replica(event).high_watermark = event["high_watermark"]

    def _directory_failed(self, event: Event) -> None:
        self.failed_directories.add(event.get("directory", ""))
        for text in event.get("partitions", "").split(","):
            topic, _, number = text.rpartition("-")
            if topic:
                place = (topic, int(number))
                self.offline.add(place)
                self.replicas.pop(place, None)

    # --- leadership ---

    def _role_changed(self, event: Event) -> None:
        if event["role"] == "offline":
            self.replicas.pop(_place(event), None)
            return
        replica = self._replica(event)
        replica.is_leader = event["role"] == "leader"
        replica.leader, replica.leader_epoch = event["leader"], event["leader_epoch"]
        replica.log_end, replica.high_watermark = event["log_end"], event["high_watermark"]
        if replica.is_leader:
            replica.isr = brokers_in_text(event["isr"])
        if event.get("min_insync_replicas", -1) >= 0:
            self.min_isr[_place(event)] = event["min_insync_replicas"]

    def _isr_ended(self, event: Event) -> None:
        if event["result"] != DONE:
            self.failed += 1
            return
        replica, isr = self._replica(event), brokers_in_text(event["isr"])
        self.shrinks += len(isr) < len(replica.isr)
        self.expands += len(isr) > len(replica.isr)
        replica.isr = isr
        if event.get("min_insync_replicas", -1) >= 0:
            self.min_isr[_place(event)] = event["min_insync_replicas"]

    # --- controllers ---

    def _controller_changed(self, event: Event) -> None:
        self.active = event["active"]
        self.controller_epoch = event["controller_epoch"]

    def _state_decided(self, event: Event) -> None:
        self.leaders[_place(event)] = event["leader"]
        self.unclean += event["reason"] == UNCLEAN

    def _state_committed(self, event: Event) -> None:
        self.leaders[_place(event)] = event["leader"]

    def _topic_removed(self, event: Event) -> None:
        for place in [place for place in self.leaders if place[0] == event["topic"]]:
            del self.leaders[place]

    def _quorum_changed(self, event: Event) -> None:
        known = self.quorum
        self.quorum = QuorumStatus(
            event["state"], event["epoch"], event["leader"], event.get("high_watermark", -1), event["log_end"],
            known.voters if known is not None else [],
        )  # fmt: skip

    def _metadata_committed(self, event: Event) -> None:
        if self.quorum is not None:
            self.quorum.high_watermark = max(self.quorum.high_watermark, event["offset"])
            self.quorum.log_end = max(self.quorum.log_end, event["offset"])

    def _registration_committed(self, event: Event) -> None:
        if event["change"] == "unregistered":
            self.brokers.pop(event["broker"], None)
        else:
            # A new registration is fenced until its first heartbeat is accepted.
            fenced = event["change"] in ("fenced", "registered")
            self.brokers[event["broker"]] = "fenced" if fenced else "unfenced"

    def _session_changed(self, event: Event) -> None:
        meter = SESSION_METERS.get(event["state"])
        if meter is not None:
            self.session[meter] = self.session.get(meter, 0) + 1

    def _replica(self, event: Event) -> PartitionStatus:
        place = _place(event)
        if place not in self.replicas:
            self.offline.discard(place)
            self.replicas[place] = PartitionStatus(
                is_leader=False, leader=NO_BROKER, leader_epoch=EPOCH_UNKNOWN, isr=[], replicas=[],
                high_watermark=NO_OFFSET, log_end=NO_OFFSET,
            )  # fmt: skip
        return self.replicas[place]


def _place(event: Event) -> TopicPartition:
    return event["topic"], event["partition"]


_FOLDS: Final = {
    "log_loaded": NodeFold._log_found,
    "log_created": NodeFold._log_found,
    "log_deleted": NodeFold._log_deleted,
    "batch_appended": NodeFold._appended,
    "log_truncated": NodeFold._truncated,
    "log_start_moved": NodeFold._start_moved,
    "high_watermark_moved": NodeFold._high_watermark_moved,
    "log_dir_failed": NodeFold._directory_failed,
    "role_changed": NodeFold._role_changed,
    "isr_change_ended": NodeFold._isr_ended,
    "controller_changed": NodeFold._controller_changed,
    "state_decided": NodeFold._state_decided,
    "partition_state_committed": NodeFold._state_committed,
    "topic_removed": NodeFold._topic_removed,
    "quorum_state_changed": NodeFold._quorum_changed,
    "metadata_committed": NodeFold._metadata_committed,
    "broker_registration_committed": NodeFold._registration_committed,
    "session_changed": NodeFold._session_changed,
}
FOLDED: Final = frozenset(_FOLDS)
"""Names of the events that a node's fold needs."""
