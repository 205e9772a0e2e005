"""Whether a simulated cluster has settled, by its true state.

All nodes are alive, every partition has its leader, its full ISR and equal log ends. Brokers, controller and ZooKeeper
agree. Brokers' metadata and topics' settings equal ZooKeeper's."""

from typing import Any

from controller.controller import Controller
from emulator.judging.explain.kraft_settled import kraft_unsettled
from emulator.judging.explain.settled_partitions import (
    Unsettled,
    partition_of,
    replicas_unsettled,
    stale_metadata,
)
from emulator.machines.broker.settings import with_topic_overrides
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.controller_node import ControllerNode
from emulator.machines.session.election import LEADING
from emulator.machines.session.server import SessionServer
from emulator.machines.session.tree import Tree
from emulator.topology import KRAFT, OBSERVER, identifier_of, node_name
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


def unsettled(world: SimulatedWorld) -> list[Unsettled]:
    """Failures to settle now; empty: the cluster has settled."""
    found = [
        Unsettled("dead", f"{name} is dead", broker=node.node.number if "broker" in node.node.roles else -1)
        for name, node in world.nodes.items()
        if not node.alive and name != OBSERVER
    ]
    if world.topology.metadata == KRAFT:
        return [*found, *kraft_unsettled(world)]
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
            found += replicas_unsettled(brokers, topic_partition, assignment, state, "ZooKeeper")
            found += stale_metadata(brokers, topic_partition, state, "ZooKeeper")
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
