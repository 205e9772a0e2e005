"""Whether a simulated KRaft cluster has settled, by its true state.

One controller is active, and all nodes of the quorum follow it. Every broker is registered and unfenced. Every
partition has its leader, its full ISR and equal log ends, and brokers' metadata equal the metadata log.
"""

from collections.abc import Iterator

from emulator.judging.explain.settled_partitions import Unsettled, replicas_unsettled, stale_metadata
from emulator.machines.node.controller_part import ControllerPart
from emulator.machines.node.kraft_broker_node import KraftBrokerNode
from emulator.machines.node.kraft_controller_node import KraftControllerNode
from emulator.machines.node.quorum_member import QuorumMember
from emulator.topology import node_name
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.ids import BrokerId

BEHIND_MAX = 100
"""Records by which a broker that is up to date may trail its controller.

These are some seconds of no-op records.
"""


def kraft_unsettled(world: SimulatedWorld) -> Iterator[Unsettled]:
    """Failures to settle of living nodes."""
    parts = controller_parts(world)
    active = [name for name, part in parts.items() if part.active]
    if len(active) != 1:
        yield Unsettled("controller", f"{len(active)} controllers are active: {active}")
        return
    members = members_of(world)
    leader = members[active[0]]
    for name, member in members.items():
        if (member.epoch, member.leader) != (leader.epoch, leader.me):
            followed = f"{node_name(member.leader)} in epoch {member.epoch}"
            text = f"{name} follows {followed}; {active[0]} leads in epoch {leader.epoch}"
            yield Unsettled("ensemble", text)
        elif member.high_watermark + BEHIND_MAX < leader.high_watermark:
            text = f"{name}: its metadata log is committed to {member.high_watermark} of {leader.high_watermark}"
            yield Unsettled("ensemble", text)
    image = parts[active[0]].image
    brokers = kraft_brokers_of(world)
    for number in brokers:
        known = image.brokers.get(BrokerId(number))
        if known is None or not known.is_active:
            what = "not registered" if known is None else "fenced" if known.fenced else "in controlled shutdown"
            yield Unsettled("unregistered", f"broker-{number} is {what}", broker=number)
    for topic, partition, state in image.partitions():
        topic_partition = (topic.topic, partition)
        name = f"{topic.topic}-{partition}"
        if state.leader not in state.replicas:
            text = f"{name} has no leader, ISR {list(state.isr)}, ELR {list(state.elr)}"
            yield Unsettled("leader", text, topic_partition)
            continue
        if set(state.isr) != set(state.replicas):
            text = f"{name}: the ISR is {list(state.isr)} of {list(state.replicas)}"
            yield Unsettled("isr", text, topic_partition)
        yield from replicas_unsettled(brokers, topic_partition, state.replicas, state, "the metadata log")
        yield from stale_metadata(brokers, topic_partition, state, "the metadata log")


def kraft_brokers_of(world: SimulatedWorld) -> dict[int, KraftBrokerNode]:
    """{number: living broker}."""
    return {n.node.number: n.machine for n in world.nodes.values() if isinstance(n.machine, KraftBrokerNode)}


def members_of(world: SimulatedWorld) -> dict[str, QuorumMember]:
    """{node: its member of the quorum}, voters and observers."""
    return {
        name: node.machine.member
        for name, node in world.nodes.items()
        if isinstance(node.machine, KraftBrokerNode | KraftControllerNode)
    }


def controller_parts(world: SimulatedWorld) -> dict[str, ControllerPart]:
    """{node: its controller}, dedicated and combined."""
    found: dict[str, ControllerPart] = {}
    for name, node in world.nodes.items():
        machine = node.machine
        if isinstance(machine, KraftControllerNode):
            found[name] = machine.part
        elif isinstance(machine, KraftBrokerNode) and isinstance(machine.controller_part, ControllerPart):
            found[name] = machine.controller_part
    return found
