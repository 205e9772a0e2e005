"""Topic creation in ZooKeeper, as Kafka's AdminUtils does it (semantics 4.4).

It assigns the topic to the registered brokers, then writes the znodes. A broker that creates a topic by itself
reports only the end of it. A client's request gets the reason of a failure (`topic_administration`).
"""

from typing import NamedTuple

from controller.assignment import UnassignableTopic, assign_replicas
from controller.session_calls import Procedure, perform, perform_all
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.gates import Gates
from protocol.ids import BrokerId
from protocol.messages.session_messages import Create, Exists, GetChildren, GetData, SessionError, SetData
from protocol.znodes import (
    BROKER_IDS,
    ReplicaAssignment,
    UnreadableZnode,
    broker_path,
    brokers_in,
    decode_broker,
    encode_config,
    encode_topic,
    topic_config_path,
    topic_path,
)


class Made(NamedTuple):
    """Result of a creation. `error` NONE: the topic exists. `why`: for people."""

    error: ErrorCode
    why: str


def create_topic(
    gates: Gates,
    chance: Chance,
    topic: str,
    partitions: int,
    replication_factor: int,
    configs: dict[str, str],
    assignment: dict[int, list[BrokerId]] | None = None,
    *,
    validate_only: bool = False,
) -> Procedure["Made"]:
    """Create a topic; an error if it exists, or there are too few brokers.

    `chance` places it, unless it has an `assignment`.
    """
    exists = yield from perform(Exists(topic_path(topic)))
    if exists.error == SessionError.OK:
        return Made(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic}' already exists.")
    ids = brokers_in((yield from perform(GetChildren(BROKER_IDS))).children)
    found = yield from perform_all([GetData(broker_path(broker)) for broker in ids])
    try:
        racks = {
            broker: decode_broker(broker, result.data, result.czxid).rack
            for broker, result in zip(ids, found, strict=True)
            if result.error == SessionError.OK
        }
        assigned = assignment or assign_replicas(
            sorted(racks), partitions, replication_factor, chance, racks if any(racks.values()) else None
        )
    except UnassignableTopic as error:
        wrong = ErrorCode.INVALID_PARTITIONS if partitions <= 0 else ErrorCode.INVALID_REPLICATION_FACTOR
        return Made(wrong, str(error))
    except UnreadableZnode as unreadable:
        return Made(ErrorCode.UNKNOWN_SERVER_ERROR, str(unreadable))
    if validate_only:
        return Made(ErrorCode.NONE, "")
    config = encode_config(configs)
    written = yield from perform(Create(topic_config_path(topic), config))
    if written.error == SessionError.NODE_EXISTS:
        yield from perform(SetData(topic_config_path(topic), config))
    replicas = {number: ReplicaAssignment(tuple(brokers)) for number, brokers in assigned.items()}
    content = encode_topic(replicas, with_reassignment=gates.topic_znode_keeps_reassignment)
    made = yield from perform(Create(topic_path(topic), content))
    if made.error != SessionError.OK:
        return Made(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic}' already exists.")
    return Made(ErrorCode.NONE, "")
