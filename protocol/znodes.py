"""Paths and contents of znodes that brokers, controllers and tools share (semantics 5.1).

Contents are JSON bytes with Kafka's keys, in Kafka's order. Decoders raise `UnreadableZnode`, which names the path.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch, Offset, TopicPartition
from protocol.numbers import number_in
from protocol.undecodable import UNDECODABLE, why

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONSUMERS = "/consumers"
TOPIC_CONFIGS = "/config/topics"
BROKER_CONFIGS = "/config/brokers"
TOPICS_CHANGED, BROKERS_CHANGED = "topics", "brokers"
"""Subjects of a notification about settings."""
EVERY_BROKER = "<default>"
"""Name in place of a broker's number for all brokers (KIP-226)."""
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE_PREFIX = "config_change_"
DELETE_TOPICS = "/admin/delete_topics"
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
ISR_CHANGE_NOTIFICATION = "/isr_change_notification"
ISR_CHANGE_PREFIX = "isr_change_"
LOG_DIR_EVENT_NOTIFICATION = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX = "log_dir_event_"

PERSISTENT_PATHS = (
    CONSUMERS,
    "/brokers", BROKER_IDS, TOPICS,
    "/config", TOPIC_CONFIGS, BROKER_CONFIGS, CONFIG_CHANGES,
    "/admin", DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION, LOG_DIR_EVENT_NOTIFICATION,
)  # fmt: skip
"""Paths that every broker creates before it registers, parents first.

Of the last two only those that its version knows.
"""


class UnreadableZnode(ValueError):
    """A znode whose content does not match its path."""


def broker_path(broker: BrokerId) -> str:
    return f"{BROKER_IDS}/{broker}"


def topic_id_of(czxid: int) -> str:
    """A topic's id: the transaction that created its znode, in hexadecimal.

    Empty for 0, an unknown one. Kafka's own ids, from 2.8 on, are random; the emulator does not model them.
    """
    return f"{czxid:x}" if czxid else ""


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    return f"{TOPICS}/{topic}/partitions"


def partition_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}"


def state_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def topic_config_path(topic: str) -> str:
    return f"{TOPIC_CONFIGS}/{topic}"


def broker_config_path(broker: str) -> str:
    """`broker`: its number, or EVERY_BROKER."""
    return f"{BROKER_CONFIGS}/{broker}"


def delete_topic_path(topic: str) -> str:
    return f"{DELETE_TOPICS}/{topic}"


def consumer_offset_path(group: str, topic: str, partition: int) -> str:
    """Path of the offset of an old consumer's group."""
    return f"{CONSUMERS}/{group}/offsets/{topic}/{partition}"


def state_partition(path: str) -> TopicPartition | None:
    """The partition of a state znode's path: the inverse of `state_path`."""
    parts = path.split("/")
    number = number_in(parts[5]) if len(parts) == 7 else None
    return (parts[3], number) if number is not None and path == state_path(parts[3], number) else None


def numbers_in(children: Iterable[str], prefix: str = "") -> list[int]:
    """The numbers in names of children with this prefix, ascending.

    Other names are ignored: a session's client may create any.
    """
    numbers = (number_in(child.removeprefix(prefix)) for child in children if child.startswith(prefix))
    return sorted(number for number in numbers if number is not None)


def brokers_in(children: Iterable[str]) -> list[BrokerId]:
    """The numbers of brokers registered under BROKER_IDS."""
    return [BrokerId(number) for number in numbers_in(children)]


# --- JSON -----------------------------------------------------------------------------------------------------------

T = TypeVar("T")


def _encode(content: dict[str, Any] | str) -> bytes:
    return msgspec.json.encode(content)


def _decode(path: str, data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except UNDECODABLE as error:
        raise UnreadableZnode(f"{path}: {why(error)}; it holds {data[:80]!r}") from error


class _ControllerContent(msgspec.Struct):
    brokerid: BrokerId


def encode_controller(broker: BrokerId, wall_ms: float) -> bytes:
    return _encode({"version": 1, "brokerid": broker, "timestamp": str(int(wall_ms))})


def decode_controller(data: bytes) -> BrokerId:
    """The id of the broker that is controller."""
    return _decode(CONTROLLER, data, _ControllerContent).brokerid


def encode_controller_epoch(epoch: ControllerEpoch) -> bytes:
    return str(epoch).encode()


def decode_controller_epoch(data: bytes) -> ControllerEpoch:
    return _decode(CONTROLLER_EPOCH, data, ControllerEpoch)


def encode_consumer_offset(offset: Offset) -> bytes:
    """A plain number, as the old consumer writes it."""
    return str(offset).encode()


def decode_consumer_offset(path: str, data: bytes) -> Offset:
    return _decode(path, data, Offset)


class BrokerRegistration(msgspec.Struct, frozen=True):
    """A live broker.

    `host`: its node's name. `epoch`: czxid of its znode, its broker epoch (KIP-380).
    """

    broker: BrokerId
    host: str
    port: int = 9092
    rack: str = ""
    epoch: int = -1


class _BrokerContent(msgspec.Struct):
    host: str
    port: int
    rack: str | None = None


def encode_broker(registration: BrokerRegistration, wall_ms: float) -> bytes:
    """A broker's content, without `epoch`, which the session service assigns."""
    content: dict[str, Any] = {
        "version": 4,
        "host": registration.host,
        "port": registration.port,
        "endpoints": [f"PLAINTEXT://{registration.host}:{registration.port}"],
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
        "jmx_port": -1,
        "timestamp": str(int(wall_ms)),
    }
    if registration.rack:
        content["rack"] = registration.rack
    return _encode(content)


def decode_broker(broker: BrokerId, data: bytes, czxid: int) -> BrokerRegistration:
    content = _decode(broker_path(broker), data, _BrokerContent)
    return BrokerRegistration(broker, content.host, content.port, content.rack or "", czxid)


class ReplicaAssignment(msgspec.Struct, frozen=True):
    """A partition's replicas, preferred leader first.

    `adding` and `removing`: of a reassignment in progress.
    """

    replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()

    @property
    def target(self) -> tuple[BrokerId, ...]:
        """Replicas at the end of the reassignment."""
        return tuple(replica for replica in self.replicas if replica not in self.removing)

    @property
    def origin(self) -> tuple[BrokerId, ...]:
        """Replicas before the reassignment."""
        return tuple(replica for replica in self.replicas if replica not in self.adding)

    @property
    def being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)


class _TopicContent(msgspec.Struct):
    partitions: dict[str, list[BrokerId]]
    adding_replicas: dict[str, list[BrokerId]] = {}
    removing_replicas: dict[str, list[BrokerId]] = {}


def encode_topic(assignments: dict[int, ReplicaAssignment], *, with_reassignment: bool = False) -> bytes:
    """A topic's content.

    `with_reassignment`: version 2 (2.4 and later), which includes added and removed replicas.
    """
    content: dict[str, Any] = {
        "version": 2 if with_reassignment else 1,
        "partitions": {str(partition): list(assignments[partition].replicas) for partition in sorted(assignments)},
    }
    if with_reassignment:
        content["adding_replicas"] = {str(p): list(a.adding) for p, a in sorted(assignments.items()) if a.adding}
        content["removing_replicas"] = {str(p): list(a.removing) for p, a in sorted(assignments.items()) if a.removing}
    return _encode(content)


def decode_topic(topic: str, data: bytes) -> dict[int, ReplicaAssignment]:
    content = _decode(topic_path(topic), data, _TopicContent)
    try:
        return {
            int(partition): ReplicaAssignment(
                tuple(replicas),
                tuple(content.adding_replicas.get(partition, ())),
                tuple(content.removing_replicas.get(partition, ())),
            )
            for partition, replicas in content.partitions.items()
        }
    except ValueError as error:
        raise UnreadableZnode(f"{topic_path(topic)}: a partition is not a number: {error}") from error


class Leadership(msgspec.Struct, frozen=True):
    """A partition's state znode.

    `leader` -1: none. `zk_version`: the znode's version, not part of its content. `recovering`: the leader was elected
    uncleanly, and no ISR change followed (KIP-704).
    """

    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    controller_epoch: ControllerEpoch
    zk_version: int = 0
    recovering: bool = False

    def same_decision(self, other: "Leadership") -> bool:
        """Whether leader, epoch, ISR and recovery are equal.

        Their writer and the znode's version do not matter.
        """
        mine = (self.leader, self.leader_epoch, self.isr, self.recovering)
        return mine == (other.leader, other.leader_epoch, other.isr, other.recovering)


class _StateContent(msgspec.Struct):
    controller_epoch: ControllerEpoch
    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: list[BrokerId]
    leader_recovery_state: int = 0


def encode_state(state: Leadership) -> bytes:
    content = {
        "controller_epoch": state.controller_epoch,
        "leader": state.leader,
        "version": 1,
        "leader_epoch": state.leader_epoch,
        "isr": list(state.isr),
    }
    return _encode(content | ({"leader_recovery_state": 1} if state.recovering else {}))


def decode_state(topic: str, partition: int, data: bytes, zk_version: int) -> Leadership:
    content = _decode(state_path(topic, partition), data, _StateContent)
    return Leadership(
        content.leader,
        content.leader_epoch,
        tuple(content.isr),
        content.controller_epoch,
        zk_version,
        content.leader_recovery_state == 1,
    )


class _TopicAndPartition(msgspec.Struct):
    topic: str
    partition: int


class _PartitionsContent(msgspec.Struct):
    partitions: list[_TopicAndPartition]


def encode_partitions(partitions: list[TopicPartition]) -> bytes:
    """Content of an isr_change node and of `/admin/preferred_replica_election`."""
    return _encode({"version": 1, "partitions": [{"topic": t, "partition": p} for t, p in partitions]})


def decode_partitions(path: str, data: bytes) -> list[TopicPartition]:
    return [(entry.topic, entry.partition) for entry in _decode(path, data, _PartitionsContent).partitions]


class _ReassignedPartition(msgspec.Struct):
    topic: str
    partition: int
    replicas: list[BrokerId]


class _ReassignmentContent(msgspec.Struct):
    partitions: list[_ReassignedPartition]


def encode_reassignment(targets: dict[TopicPartition, tuple[BrokerId, ...]]) -> bytes:
    entries = [{"topic": t, "partition": p, "replicas": list(replicas)} for (t, p), replicas in sorted(targets.items())]
    return _encode({"version": 1, "partitions": entries})


def decode_reassignment(data: bytes) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    content = _decode(REASSIGN_PARTITIONS, data, _ReassignmentContent)
    return {(entry.topic, entry.partition): tuple(entry.replicas) for entry in content.partitions}


class _ConfigContent(msgspec.Struct):
    config: dict[str, str] = {}


def decode_topic_config(topic: str, data: bytes) -> dict[str, str]:
    return decode_config(topic_config_path(topic), data)


class _ConfigChangeContent(msgspec.Struct):
    version: int
    entity_path: str = ""
    entity_type: str = ""
    entity_name: str = ""

    @property
    def path(self) -> str:
        return self.entity_path if self.version > 1 else f"{self.entity_type}/{self.entity_name}"


def encode_config_change(name: str, form: int, of: str = TOPICS_CHANGED) -> bytes:
    """A notification under /config/changes about a topic's, or BROKERS_CHANGED, settings.

    `form`: 0 has only the topic's name (0.8.2), 1 and 2 are objects.
    """
    if form == 0:
        assert of == TOPICS_CHANGED
        return _encode(name)
    if form == 1:
        return _encode({"version": 1, "entity_type": of, "entity_name": name})
    return _encode({"version": 2, "entity_path": f"{of}/{name}"})


def decode_config_change(path: str, data: bytes) -> tuple[str, str]:
    """(TOPICS_CHANGED, BROKERS_CHANGED or another subject; its name)."""
    if data.startswith(b'"'):
        return TOPICS_CHANGED, _decode(path, data, str)
    kind, _, name = _decode(path, data, _ConfigChangeContent).path.partition("/")
    return kind, name


def encode_config(config: Mapping[str, str]) -> bytes:
    """Settings, as text, of a topic or a broker."""
    return _encode({"version": 1, "config": dict(config)})


def decode_config(path: str, data: bytes) -> dict[str, str]:
    return _decode(path, data, _ConfigContent).config


class _LogDirContent(msgspec.Struct):
    broker: BrokerId


def encode_log_dir_event(broker: BrokerId) -> bytes:
    """A notification of a failed log directory (`event` 1)."""
    return _encode({"version": 1, "broker": broker, "event": 1})


def decode_log_dir_event(path: str, data: bytes) -> BrokerId:
    return _decode(path, data, _LogDirContent).broker
