"""State of one term: brokers, topics, assignments, partition states.

The controller forgets all of it when it resigns. The positions of the two state machines (semantics 4.1), and the
moves allowed between them, are tables here. The moves themselves are in `partition_states` and `replica_states`.
All iteration is in sorted order: Kafka's hash order is no rule.
"""

from collections.abc import Iterable
from enum import Enum

from protocol.ids import BrokerId, ControllerEpoch, TopicPartition
from protocol.znodes import BrokerRegistration, Leadership, ReplicaAssignment

Replica = tuple[str, int, BrokerId]
"""Replica: (topic, partition, broker)."""


class PartitionPosition(Enum):
    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"


class ReplicaPosition(Enum):
    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"


_P = PartitionPosition
_R = ReplicaPosition

PARTITION_MOVES: dict[PartitionPosition, frozenset[PartitionPosition]] = {
    _P.NEW: frozenset({_P.NON_EXISTENT}),
    _P.ONLINE: frozenset({_P.NEW, _P.ONLINE, _P.OFFLINE}),
    _P.OFFLINE: frozenset({_P.NEW, _P.ONLINE, _P.OFFLINE}),
    _P.NON_EXISTENT: frozenset({_P.OFFLINE}),
}
"""Allowed moves: {target: positions it may be reached from}."""

REPLICA_MOVES: dict[ReplicaPosition, frozenset[ReplicaPosition]] = {
    _R.NEW: frozenset({_R.NON_EXISTENT}),
    _R.ONLINE: frozenset({_R.NEW, _R.ONLINE, _R.OFFLINE, _R.DELETION_INELIGIBLE}),
    _R.OFFLINE: frozenset({_R.NEW, _R.ONLINE, _R.OFFLINE, _R.DELETION_INELIGIBLE}),
    _R.DELETION_STARTED: frozenset({_R.OFFLINE}),
    _R.DELETION_SUCCESSFUL: frozenset({_R.DELETION_STARTED}),
    _R.DELETION_INELIGIBLE: frozenset({_R.OFFLINE, _R.DELETION_STARTED}),
    _R.NON_EXISTENT: frozenset({_R.DELETION_SUCCESSFUL}),
}
"""Allowed moves: {target: positions it may be reached from}."""


class ControllerState:
    """Kafka's ControllerContext.

    `epoch`, `epoch_zk_version`: of `/controller_epoch` as this controller wrote it; 0 and -1 while it is not
    active. `brokers`: registered ones, shutting down or not. `offline_log_dirs`: {broker: partitions it cannot
    serve}. `topic_ids`: see `znodes.topic_id_of`. `states`: last read from or written to the state znodes; absent:
    never had a leader. `reported_deleted`: partitions that UpdateMetadata reports as deleted though deletion is
    disabled (0.8.2).
    """

    def __init__(self) -> None:
        self.epoch = ControllerEpoch(0)
        self.epoch_zk_version = -1
        self.brokers: dict[BrokerId, BrokerRegistration] = {}
        self.shutting_down: set[BrokerId] = set()
        self.offline_log_dirs: dict[BrokerId, set[TopicPartition]] = {}
        self.topics: set[str] = set()
        self.topic_ids: dict[str, str] = {}
        self.assignments: dict[TopicPartition, ReplicaAssignment] = {}
        self.states: dict[TopicPartition, Leadership] = {}
        self.partitions: dict[TopicPartition, PartitionPosition] = {}
        self.replicas: dict[Replica, ReplicaPosition] = {}
        self.being_reassigned: set[TopicPartition] = set()
        self.to_be_deleted: set[str] = set()
        self.reported_deleted: set[TopicPartition] = set()
        self.deletion_started: set[str] = set()
        self.ineligible_for_deletion: set[str] = set()

    # --- brokers ---

    @property
    def live(self) -> set[BrokerId]:
        """Brokers that are registered and not shutting down."""
        return self.brokers.keys() - self.shutting_down

    def is_online(self, broker: BrokerId, partition: TopicPartition, *, even_shutting_down: bool = False) -> bool:
        """Whether `broker` can serve its replica of `partition`."""
        alive = broker in self.brokers and (even_shutting_down or broker not in self.shutting_down)
        return alive and partition not in self.offline_log_dirs.get(broker, ())

    def online(self, partition: TopicPartition, *, even_shutting_down: bool = False) -> list[BrokerId]:
        """The assigned replicas that are online, in the assignment's order."""
        return [
            replica
            for replica in self.replicas_of(partition)
            if self.is_online(replica, partition, even_shutting_down=even_shutting_down)
        ]

    # --- partitions and replicas ---

    def replicas_of(self, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """The assignment; empty if there is none."""
        assignment = self.assignments.get(partition)
        return assignment.replicas if assignment else ()

    def all_partitions(self) -> list[TopicPartition]:
        return sorted(self.assignments)

    def partitions_of_topic(self, topic: str) -> list[TopicPartition]:
        return [partition for partition in self.all_partitions() if partition[0] == topic]

    def partitions_on(self, broker: BrokerId) -> list[TopicPartition]:
        return [partition for partition in self.all_partitions() if broker in self.replicas_of(partition)]

    def replicas_on(self, brokers: Iterable[BrokerId]) -> list[Replica]:
        return [(*partition, broker) for broker in sorted(brokers) for partition in self.partitions_on(broker)]

    def replicas_of_partitions(self, partitions: Iterable[TopicPartition]) -> list[Replica]:
        return [(*partition, replica) for partition in sorted(partitions) for replica in self.replicas_of(partition)]

    def replicas_of_topic(self, topic: str) -> list[Replica]:
        return self.replicas_of_partitions(self.partitions_of_topic(topic))

    def replicas_by_liveness(self) -> tuple[list[Replica], list[Replica]]:
        """All assigned replicas as (online, offline), in the order of brokers."""
        every = sorted(self.replicas_of_partitions(self.assignments), key=lambda replica: (replica[2], replica))
        online = [replica for replica in every if self.is_online(replica[2], replica[:2])]
        offline = [replica for replica in every if not self.is_online(replica[2], replica[:2])]
        return online, offline

    def partitions_in(self, *positions: PartitionPosition) -> list[TopicPartition]:
        return sorted(partition for partition, position in self.partitions.items() if position in positions)

    def replicas_in(self, topic: str, position: ReplicaPosition) -> list[Replica]:
        return sorted(replica for replica, p in self.replicas.items() if replica[0] == topic and p is position)

    def partitions_without_online_leader(self) -> list[TopicPartition]:
        """Partitions whose leader (-1 included) is not online and whose topic stays."""
        return sorted(
            partition
            for partition, state in self.states.items()
            if not self.is_online(state.leader, partition) and not self.is_being_deleted(partition[0])
        )

    def is_being_deleted(self, topic: str) -> bool:
        return topic in self.to_be_deleted

    def forget_topic(self, topic: str) -> None:
        """Remove a deleted topic from the state."""
        self.to_be_deleted.discard(topic)
        self.deletion_started.discard(topic)
        self.ineligible_for_deletion.discard(topic)
        self.topics.discard(topic)
        self.topic_ids.pop(topic, None)
        for partition in self.partitions_of_topic(topic):
            del self.assignments[partition]
        for partition in [p for p in self.states if p[0] == topic]:
            del self.states[partition]
        for partition in [p for p in self.partitions if p[0] == topic]:
            del self.partitions[partition]
        for replica in [r for r in self.replicas if r[0] == topic]:
            del self.replicas[replica]
        self.being_reassigned = {p for p in self.being_reassigned if p[0] != topic}
