"""What brokers and controllers keep in the session service: paths and their JSON contents (semantics 5.1).

Kafka's own texts, so that a person who knows them recognises them. Decoding raises BadZnode with path and reason.
"""

import msgspec

from protocol.ids import TopicPartition

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
TOPIC_CONFIGS = "/config/topics"
ISR_CHANGE_NOTIFICATIONS = "/isr_change_notification"
ISR_CHANGE_NOTIFICATION_PREFIX = "/isr_change_notification/isr_change_"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
REASSIGN = "/admin/reassign_partitions"
DELETE_TOPICS = "/admin/delete_topics"
PERSISTENT_PATHS: tuple[str, ...] = (
    "/brokers", BROKER_IDS, TOPICS, "/config", TOPIC_CONFIGS, "/admin", DELETE_TOPICS, ISR_CHANGE_NOTIFICATIONS, "/consumers",
)  # fmt: skip
"""Created by whoever starts first."""

_json = msgspec.json.Encoder()


class BadZnode(ValueError):
    """A znode whose content is not what its path promises."""


class LeaderAndIsrState(msgspec.Struct, frozen=True):
    """A partition's state znode. `leader` -1 none. The znode's data version is the zkVersion."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int


class BrokerRegistration(msgspec.Struct, frozen=True):
    """`/brokers/ids/N`: where the broker is (its node's name) and its rack (AZ)."""

    host: str
    rack: str


class _State(msgspec.Struct):
    controller_epoch: int
    leader: int
    version: int
    leader_epoch: int
    isr: tuple[int, ...]


class _Controller(msgspec.Struct):
    version: int
    brokerid: int
    timestamp: str


class _Broker(msgspec.Struct):
    host: str
    rack: str | None = None


class _Assignment(msgspec.Struct):
    partitions: dict[str, list[int]]
    adding_replicas: dict[str, list[int]] = {}
    removing_replicas: dict[str, list[int]] = {}


class _Config(msgspec.Struct):
    config: dict[str, str]


class _Notified(msgspec.Struct):
    topic: str
    partition: int


class _Partitions(msgspec.Struct):
    partitions: list[_Notified]


def _decode(kind: type, data: bytes, what: str) -> object:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise BadZnode(f"{what}: {error}") from error


def broker_path(broker: int) -> str:
    return f"{BROKER_IDS}/{broker}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def topic_config_path(topic: str) -> str:
    return f"{TOPIC_CONFIGS}/{topic}"


def partition_state_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def partition_of_state_path(path: str) -> TopicPartition | None:
    """The partition whose state this is, or None."""
    parts = path.split("/")
    if len(parts) == 7 and path.startswith(TOPICS) and parts[4] == "partitions" and parts[6] == "state":
        return parts[3], int(parts[5])
    return None


def encode_state(state: LeaderAndIsrState) -> bytes:
    """`{"controller_epoch":1,"leader":0,"version":1,"leader_epoch":0,"isr":[0,1,2]}`"""
    return _json.encode(_State(state.controller_epoch, state.leader, 1, state.leader_epoch, state.isr))


def decode_state(data: bytes) -> LeaderAndIsrState:
    s = _decode(_State, data, "partition state")
    assert isinstance(s, _State)
    return LeaderAndIsrState(s.leader, s.leader_epoch, s.isr, s.controller_epoch)


def encode_controller(broker: int, wall_ms: float) -> bytes:
    """`{"version":1,"brokerid":0,"timestamp":"ms"}`"""
    return _json.encode(_Controller(1, broker, str(int(wall_ms))))


def decode_controller(data: bytes) -> int:
    """The broker that holds `/controller`."""
    c = _decode(_Controller, data, CONTROLLER)
    assert isinstance(c, _Controller)
    return c.brokerid


def encode_broker(host: str, rack: str, wall_ms: float) -> bytes:
    """A registration; the node's name stands for host and port."""
    return _json.encode(
        {
            "version": 4,
            "host": host,
            "port": 9092,
            "endpoints": [f"PLAINTEXT://{host}:9092"],
            "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
            "jmx_port": -1,
            "timestamp": str(int(wall_ms)),
            "rack": rack or None,
        }
    )


def decode_broker(data: bytes) -> BrokerRegistration:
    b = _decode(_Broker, data, "broker registration")
    assert isinstance(b, _Broker)
    return BrokerRegistration(b.host, b.rack or "")


def encode_assignment(assignment: dict[int, list[int]]) -> bytes:
    """`/brokers/topics/T`: partition -> brokers, preferred leader first."""
    return _json.encode(
        {
            "version": 2,
            "partitions": {str(p): brokers for p, brokers in sorted(assignment.items())},
            "adding_replicas": {},
            "removing_replicas": {},
        }
    )


def decode_assignment(data: bytes) -> dict[int, list[int]]:
    a = _decode(_Assignment, data, "topic assignment")
    assert isinstance(a, _Assignment)
    return {int(p): brokers for p, brokers in a.partitions.items()}


def encode_config(config: dict[str, str]) -> bytes:
    """`/config/topics/T`"""
    return _json.encode({"version": 1, "config": config})


def decode_config(data: bytes) -> dict[str, str]:
    c = _decode(_Config, data, "topic config")
    assert isinstance(c, _Config)
    return c.config


def encode_isr_change_notification(changed: list[TopicPartition]) -> bytes:
    """Also the form of `/admin/preferred_replica_election`."""
    return _json.encode({"version": 1, "partitions": [{"topic": t, "partition": p} for t, p in changed]})


def decode_partitions(data: bytes) -> list[TopicPartition]:
    """Of an ISR change notification or a preferred election."""
    n = _decode(_Partitions, data, "list of partitions")
    assert isinstance(n, _Partitions)
    return [(p.topic, p.partition) for p in n.partitions]
