"""Failures of a simulated cluster to settle, and those of one partition's replicas.

The cluster's metadata are in ZooKeeper or in KRaft.
"""

from collections.abc import Mapping

import msgspec

from controller.kraft.metadata_image import PartitionRegistration
from emulator.machines.broker.partition import Partition
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.kraft_broker_node import KraftBrokerNode
from protocol.ids import TopicPartition
from protocol.znodes import Leadership

AnyBroker = BrokerNode | KraftBrokerNode
LeaderState = Leadership | PartitionRegistration


class Unsettled(msgspec.Struct, frozen=True):
    """One failure to settle.

    `what`: dead, ensemble, unregistered, controller, no-state, leader, isr, role, log-end, high-watermark, settings,
    metadata. `broker`: -1 if it concerns no broker.
    """

    what: str
    text: str
    topic_partition: TopicPartition = ("", -1)
    broker: int = -1


def partition_of(broker: AnyBroker, topic_partition: TopicPartition) -> Partition | None:
    return broker.broker.replicas.partitions.get(topic_partition)


def stale_metadata(
    brokers: Mapping[int, AnyBroker], topic_partition: TopicPartition, state: LeaderState, source: str
) -> list[Unsettled]:
    """Brokers whose metadata responses have another leader or epoch."""
    found: list[Unsettled] = []
    for number, broker in brokers.items():
        known = broker.broker.metadata.partitions.get(topic_partition)
        if known is None or (known.leader, known.leader_epoch) != (state.leader, state.leader_epoch):
            held = "none" if known is None else _leader_text(known.leader, known.leader_epoch)
            text = f"{_leader_in(topic_partition, state, source)}, {held} in the metadata of broker-{number}"
            found.append(Unsettled("metadata", text, topic_partition, number))
    return found


def _leader_text(leader: int, epoch: int) -> str:
    return f"broker-{leader} (epoch {epoch})" if leader >= 0 else "none"


def _leader_in(topic_partition: TopicPartition, state: LeaderState, source: str) -> str:
    leader = _leader_text(state.leader, state.leader_epoch)
    return f"{topic_partition[0]}-{topic_partition[1]}: the leader is {leader} in {source}"


def replicas_unsettled(
    brokers: Mapping[int, AnyBroker],
    topic_partition: TopicPartition,
    assignment: tuple[int, ...],
    state: LeaderState,
    source: str,
) -> list[Unsettled]:
    """Replicas whose role, log end or high watermark differs."""
    found: list[Unsettled] = []
    name = f"{topic_partition[0]}-{topic_partition[1]}"
    held = {number: partition_of(brokers[number], topic_partition) for number in assignment if number in brokers}
    leader = held.get(state.leader)
    for number, partition in held.items():
        epoch = partition.leader_epoch if partition is not None else -1
        follows = partition.leader if partition is not None else -1
        if follows != state.leader or epoch != state.leader_epoch:
            text = f"{_leader_in(topic_partition, state, source)}, {_leader_text(follows, epoch)} at broker-{number}"
            found.append(Unsettled("role", text, topic_partition, number))
    if leader is None or leader.log is None or not leader.leads:
        return found
    log_end = leader.log.log_end
    for number, partition in held.items():
        if partition is not None and partition.log is not None and partition.log.log_end != log_end:
            text = f"{name}: broker-{number} ends at {partition.log.log_end}, the leader at {log_end}"
            found.append(Unsettled("log-end", text, topic_partition, number))
    if leader.log.high_watermark != log_end or leader.lock.held or set(leader.isr) != set(assignment):
        text = f"{name}: the leader's high watermark is {leader.log.high_watermark} of {log_end}, its ISR {leader.isr}"
        found.append(Unsettled("high-watermark", text, topic_partition, state.leader))
    return found
