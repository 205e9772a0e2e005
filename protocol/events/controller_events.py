"""Events of the controller, and of the session service that elects it."""

from protocol.events.event_base import Event, OfPartition, OfTopic

# fmt: off

class ControllerChanged(Event):
    """A broker became controller (`active` true), as it believes, or resigned (false).

    `zk_version`: of /controller_epoch.
    """
    NAME = "controller_changed"
    active: bool
    controller_epoch: int
    reason: str
    zk_version: int = -1


class BrokersSeen(Event):
    """The controller saw brokers join and leave; texts such as "0,2"."""
    NAME = "brokers_seen"
    added: str
    removed: str
    bounced: str
    live: str


class BrokersHandled(Event):
    """The controller begins to handle brokers that joined, left, or lost a log directory.

    `change`: startup, failure, log-dir-failure.
    """
    NAME = "brokers_handled"
    change: str
    brokers: str


class ReplicasMarkedOffline(Event):
    """A broker reported to the controller that replicas are offline with their log directory.

    `replica`: that broker, which lives.
    """
    NAME = "replicas_marked_offline"
    replica: int
    partitions: str             # "t-0,t-2"
    controller_epoch: int


class StateDecided(OfPartition):
    """The controller wrote a partition's state.

    `reason`: created, offline-election, offline-replica, preferred-election, isr-change, ... `replica`: the one that
    left the ISR (offline-replica).
    """
    NAME = "state_decided"
    leader: int
    leader_epoch: int
    isr: str
    controller_epoch: int
    zk_version: int
    reason: str
    replica: int = -1


class TopicDeletionChanged(OfTopic):
    """Progress of a topic's deletion at the controller.

    `change`: asked (the controller saw its mark), begun (replicas are ordered to delete), halted (`reason`: a replica
    is offline, could not be deleted, a reassignment is under way), refused (delete.topic.enable).
    """
    NAME = "topic_deletion_changed"
    topic: str
    change: str
    controller_epoch: int
    reason: str


class TopicRemoved(OfTopic):
    """The controller removes a deleted topic from the session service.

    Every replica is deleted. A later topic of the same name is another topic.
    """
    NAME = "topic_removed"
    topic: str
    controller_epoch: int


class SessionChanged(Event):
    """A client saw its session's `state`: connected, disconnected, expired, closed."""
    NAME = "session_changed"
    session: int
    state: str
    owner: str
    server: str


class SessionEnded(Event):
    """The ensemble's leader ended a session.

    `reason`: expired or closed. `owner`: the node that had the session.
    """
    NAME = "session_ended"
    session: int
    reason: str
    zxid: int
    owner: str


class ZnodeChanged(Event):
    """A change of a znode, committed at one server (each server writes its own)."""
    NAME = "znode_changed"
    path: str
    change: str
    version: int
    zxid: int
    data: str


class EnsembleChanged(Event):
    """Role of a session server: looking, following, leading. `serving`: it accepts clients."""
    NAME = "ensemble_changed"
    role: str
    peer_epoch: int
    leader_server: int
    serving: bool
# fmt: on
