"""The controller, and the session service that elects it."""

from protocol.events.base import Event

# fmt: off

class ControllerChanged(Event):
    """`active` true: this broker is (now) controller, as it believes; false: it resigned. `zk_version`: of
    /controller_epoch."""
    NAME = "controller_changed"
    active: bool
    controller_epoch: int
    reason: str
    zk_version: int = -1


class BrokersSeen(Event):
    """The controller saw brokers come and go; texts such as "0,2"."""
    NAME = "brokers_seen"
    added: str
    removed: str
    bounced: str
    live: str


class BrokersHandled(Event):
    """The controller begins to act on brokers that came (`change` startup), went (failure) or lost a log directory
    (log-dir-failure)."""
    NAME = "brokers_handled"
    change: str
    brokers: str


class ReplicasMarkedOffline(Event):
    """The controller heard from broker `replica`, which lives, that these are gone with their log directory."""
    NAME = "replicas_marked_offline"
    replica: int
    partitions: str             # "t-0,t-2"
    controller_epoch: int


class StateDecided(Event):
    """The controller wrote a partition's state. `reason`: created, offline-election, offline-replica,
    preferred-election, isr-change, ... `replica`: that left the ISR (offline-replica)."""
    NAME = "state_decided"
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: str
    controller_epoch: int
    zk_version: int
    reason: str
    replica: int = -1


class TopicDeletionChanged(Event):
    """The controller deletes a topic. `change`: asked (heard of its mark), begun (its replicas are told to go), halted
    (`reason`: a replica is offline, could not be deleted, a reassignment is under way), refused
    (delete.topic.enable)."""
    NAME = "topic_deletion_changed"
    topic: str
    change: str
    controller_epoch: int
    reason: str


class TopicRemoved(Event):
    """Every replica of the topic is deleted, as was asked for, and the controller takes it out of the session service
    now. What is called so from here on is another topic."""
    NAME = "topic_removed"
    topic: str
    controller_epoch: int


class SessionChanged(Event):
    """Seen by a client: `state` connected, disconnected, expired, closed. `owner`: whose session."""
    NAME = "session_changed"
    session: int
    state: str
    owner: str
    server: str


class SessionEnded(Event):
    """Seen by the ensemble's leader. `reason`: expired or closed. `owner`: the node whose session it was."""
    NAME = "session_ended"
    session: int
    reason: str
    zxid: int
    owner: str


class ZnodeChanged(Event):
    """Committed at one server (each server writes its own). `change`: created, changed, deleted. `data`: as text."""
    NAME = "znode_changed"
    path: str
    change: str
    version: int
    zxid: int
    data: str


class EnsembleChanged(Event):
    """A session server's role: looking, following, leading; `serving`: it accepts clients."""
    NAME = "ensemble_changed"
    role: str
    peer_epoch: int
    leader_server: int
    serving: bool
# fmt: on
