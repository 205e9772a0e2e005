"""Whether a simulated cluster has settled, by its true state.

All nodes are alive, every partition has its leader, its full ISR and equal log ends. Brokers, controller and ZooKeeper
agree. Brokers' metadata and topics' settings equal ZooKeeper's."""

from typing import Any

import msgspec

from controller.controller import Controller
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.settings import with_topic_overrides
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.controller_node import ControllerNode
from emulator.machines.session.election import LEADING
from emulator.machines.session.server import SessionServer
from emulator.machines.session.tree import Tree
from emulator.topology import OBSERVER, identifier_of, node_name
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.ids import BrokerId, TopicPartition
from protocol.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    TOPICS,
    Leadership,
    broker_path,
    decode_controller,
    decode_controller_epoch,
    decode_state,
    decode_topic,
    decode_topic_config,
    state_path,
    topic_config_path,
)


class Unsettled(msgspec.Struct, frozen=True):
    """One failure to settle.

    `what`: dead, ensemble, unregistered, controller, no-state, leader, isr, role, log-end, high-watermark, settings,
    metadata. `broker`: -1 if it concerns no broker.
    """

    what: str
    text: str
    topic_partition: TopicPartition = ("", -1)
    broker: int = -1


def unsettled(world: SimulatedWorld) -> list[Unsettled]:
    """Failures to settle now; empty: the cluster has settled."""
    found = [
        Unsettled("dead", f"{name} is dead", broker=node.node.number if "broker" in node.node.roles else -1)
        for name, node in world.nodes.items()
        if not node.alive and name != OBSERVER
    ]
    tree, ensemble = ensemble_state(world)
    found += ensemble
    brokers = brokers_of(world)
    if tree is None:
        return found
    for number, broker in brokers.items():
        znode = tree.znodes.get(broker_path(BrokerId(number)))
        if znode is None or znode.owner != broker.session.session_id:
            found.append(Unsettled("unregistered", f"broker-{number} is not registered", broker=number))
    found += _controller(tree, controllers_of(world))
    for topic_partition, assignment in assignments(tree).items():
        state = state_of(tree, topic_partition)
        name = f"{topic_partition[0]}-{topic_partition[1]}"
        if state is None:
            found.append(Unsettled("no-state", f"{name} has no state", topic_partition))
        elif state.leader not in assignment:
            found.append(Unsettled("leader", f"{name} has no leader, ISR {list(state.isr)}", topic_partition))
        else:
            if set(state.isr) != set(assignment):
                found.append(
                    Unsettled("isr", f"{name}: the ISR is {list(state.isr)} of {list(assignment)}", topic_partition)
                )
            found += _replicas(brokers, topic_partition, assignment, state)
            found += _metadata(brokers, topic_partition, state)
        found += _settings(tree, brokers, topic_partition)
    return found


def ensemble_state(world: SimulatedWorld) -> tuple[Tree | None, list[Unsettled]]:
    """The leader's tree, and the ensemble's failures."""
    servers: dict[str, Any] = {n: s.machine for n, s in world.nodes.items() if isinstance(s.machine, SessionServer)}
    leading = [server for server in servers.values() if server.role == LEADING and server.serving]
    idle = [name for name, server in servers.items() if not server.serving]
    found = [Unsettled("ensemble", f"{name} does not serve") for name in idle]
    if len(leading) != 1:
        return None, [*found, Unsettled("ensemble", f"{len(leading)} session servers lead")]
    return leading[0].tree, found


def brokers_of(world: SimulatedWorld) -> dict[int, BrokerNode]:
    """{number: living broker}."""
    return {n.node.number: n.machine for n in world.nodes.values() if isinstance(n.machine, BrokerNode)}


def controllers_of(world: SimulatedWorld) -> dict[int, Controller]:
    """{id: living controller or candidate}."""
    return {
        identifier_of(node.node): node.machine.controller
        for node in world.nodes.values()
        if isinstance(node.machine, BrokerNode | ControllerNode)
    }


def assignments(tree: Tree) -> dict[TopicPartition, tuple[int, ...]]:
    """{partition: its replicas}."""
    prefix = TOPICS + "/"
    topics = [path[len(prefix) :] for path in tree.znodes if path.startswith(prefix) and "/" not in path[len(prefix) :]]
    return {
        (topic, partition): assigned.replicas
        for topic in sorted(topics)
        for partition, assigned in decode_topic(topic, tree.znodes[prefix + topic].data).items()
    }


def state_of(tree: Tree, topic_partition: TopicPartition) -> Leadership | None:
    znode = tree.znodes.get(state_path(*topic_partition))
    return None if znode is None else decode_state(*topic_partition, znode.data, znode.version)


def partition_of(broker: BrokerNode, topic_partition: TopicPartition) -> Partition | None:
    return broker.broker.replicas.partitions.get(topic_partition)


def _settings(tree: Tree, brokers: dict[int, BrokerNode], topic_partition: TopicPartition) -> list[Unsettled]:
    """Replicas whose topic settings differ from ZooKeeper's, whenever they changed."""
    topic = topic_partition[0]
    znode = tree.znodes.get(topic_config_path(topic))
    config = decode_topic_config(topic, znode.data) if znode is not None else {}
    found: list[Unsettled] = []
    for number, broker in brokers.items():
        partition = partition_of(broker, topic_partition)
        if partition is not None and partition.log is not None:
            wanted = with_topic_overrides(broker.context.settings, config)
            if partition.settings != wanted:
                other = f"broker-{number} goes by other settings than {config or 'its own'}"
                found.append(Unsettled("settings", f"{topic}-{topic_partition[1]}: {other}", topic_partition, number))
    return found


def _metadata(brokers: dict[int, BrokerNode], topic_partition: TopicPartition, state: Leadership) -> list[Unsettled]:
    """Brokers whose metadata responses have another leader or epoch."""
    found: list[Unsettled] = []
    for number, broker in brokers.items():
        known = broker.broker.metadata.partitions.get(topic_partition)
        if known is None or (known.leader, known.leader_epoch) != (state.leader, state.leader_epoch):
            held = "none" if known is None else _leader_text(known.leader, known.leader_epoch)
            text = f"{_in_zookeeper(topic_partition, state)}, {held} in the metadata of broker-{number}"
            found.append(Unsettled("metadata", text, topic_partition, number))
    return found


def _controller(tree: Tree, candidates: dict[int, Controller]) -> list[Unsettled]:
    active = [number for number, controller in candidates.items() if controller.active]
    znode, epoch = tree.znodes.get(CONTROLLER), tree.znodes.get(CONTROLLER_EPOCH)
    if znode is None or epoch is None:
        return [Unsettled("controller", "there is no controller")]
    elected = decode_controller(znode.data)
    if active != [elected]:
        return [Unsettled("controller", f"{node_name(elected)} is elected, active are {list(map(node_name, active))}")]
    known = candidates[elected].controller_epoch
    if known != decode_controller_epoch(epoch.data):
        return [Unsettled("controller", f"{node_name(elected)} is controller of epoch {known}, not the latest")]
    return []


def _leader_text(leader: int, epoch: int) -> str:
    return f"broker-{leader} (epoch {epoch})" if leader >= 0 else "none"


def _in_zookeeper(topic_partition: TopicPartition, state: Leadership) -> str:
    leader = _leader_text(state.leader, state.leader_epoch)
    return f"{topic_partition[0]}-{topic_partition[1]}: the leader is {leader} in ZooKeeper"


def _replicas(
    brokers: dict[int, BrokerNode], topic_partition: TopicPartition, assignment: tuple[int, ...], state: Leadership
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
            text = f"{_in_zookeeper(topic_partition, state)}, {_leader_text(follows, epoch)} at broker-{number}"
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
