"""A topic made by a broker itself, as Kafka's AdminUtils does it: assigned to the brokers that are registered, then
written into the session service (semantics 4.4).

Nobody is told more than that it is over: whoever asked finds the topic in the metadata later, or not.
"""

from controller.assignment import UnassignableTopic, assign_replicas
from controller.session_calls import Procedure, perform, perform_all
from protocol.chance import Chance
from protocol.messages.session import Create, Exists, GetChildren, GetData, SessionError, SetData
from protocol.versions import Gates
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


def create_topic(
    gates: Gates, chance: Chance, topic: str, partitions: int, replication_factor: int, configs: dict[str, str]
) -> Procedure[bool]:
    """Whether it was made; not if it exists or if there are too few brokers. `chance` places it."""
    exists = yield from perform(Exists(topic_path(topic)))
    if exists.error == SessionError.OK:
        return False
    ids = brokers_in((yield from perform(GetChildren(BROKER_IDS))).children)
    found = yield from perform_all([GetData(broker_path(broker)) for broker in ids])
    try:
        racks = {
            broker: decode_broker(broker, result.data, result.czxid).rack
            for broker, result in zip(ids, found, strict=True)
            if result.error == SessionError.OK
        }
        assigned = assign_replicas(
            sorted(racks), partitions, replication_factor, chance, racks if any(racks.values()) else None
        )
    except (UnassignableTopic, UnreadableZnode):
        return False
    config = encode_config(configs)
    written = yield from perform(Create(topic_config_path(topic), config))
    if written.error == SessionError.NODE_EXISTS:
        yield from perform(SetData(topic_config_path(topic), config))
    replicas = {number: ReplicaAssignment(tuple(brokers)) for number, brokers in assigned.items()}
    content = encode_topic(replicas, with_reassignment=gates.topic_znode_keeps_reassignment)
    made = yield from perform(Create(topic_path(topic), content))
    return made.error == SessionError.OK
