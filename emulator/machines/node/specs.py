"""Specs of a run's nodes, as plain data, and the machine made of each.

The data are msgpack-able, so that a forked process can receive them; nothing is pickled.
"""

from typing import Any

import msgspec

from controller.kraft.quorum_controller import make_quorum_controller
from emulator.machines.client.client_node import ClientNode
from emulator.machines.client.client_operations import KeptOperations
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.controller_node import ControllerNode
from emulator.machines.node.controller_part import ControllerPart
from emulator.machines.node.kraft_broker_node import CombinedNode, KraftBrokerNode
from emulator.machines.node.kraft_controller_node import KraftControllerNode
from emulator.machines.node.quorum_member import QuorumMember
from emulator.machines.session.server import SessionServer
from emulator.storage.files import Files
from emulator.topology import KRAFT, Node, Topology
from protocol.gates import Gates, gates_for
from protocol.machine import Machine
from protocol.outbox import Outbox
from protocol.versions import rank


class RunSpec(msgspec.Struct, frozen=True):
    """Spec of a run.

    `kafka_version`: of clients always, of brokers and controllers unless `binaries` has another: {node: its own}.
    `settings`: {broker or controller node: every setting in force}. `given`: the explicit ones of them; a start
    with another binary begins from these. `harmless`: further explicit settings, which have no effect and are only
    reported. The other fields are ZooKeeper's; -1: in ticks, as ZooKeeper has it.
    """

    topology: Topology
    kafka_version: str
    settings: dict[str, dict[str, Any]]
    tick_time_ms: int = 1000
    init_limit: int = 10
    sync_limit: int = 4
    min_session_timeout_ms: int = -1
    max_session_timeout_ms: int = -1
    binaries: dict[str, str] = {}
    given: dict[str, dict[str, Any]] = {}
    harmless: dict[str, dict[str, Any]] = {}

    def binary(self, node: str) -> str:
        """The version of a node's programs."""
        return self.binaries.get(node, self.kafka_version)

    def protocol(self, node: str) -> str:
        """inter.broker.protocol.version of a node; KRaft has metadata.version instead."""
        if self.topology.metadata == KRAFT:
            return self.binary(node)
        return str(self.settings[node].get("inter.broker.protocol.version") or self.binary(node))

    def gates(self, node: str) -> Gates:
        """Gates of a broker's or controller's next incarnation."""
        if self.topology.metadata == KRAFT:
            return gates_for(self.binary(node), metadata=KRAFT)
        protocol, written = self.protocol(node), str(self.settings[node].get("log.message.format.version") or "")
        return gates_for(self.binary(node), protocol, written if written not in ("", protocol) else None)

    def versions(self) -> tuple[str, ...]:
        """Versions of all brokers' and controllers' binaries, oldest first."""
        return tuple(sorted({self.binary(node) for node in self.settings} or {self.kafka_version}, key=rank))


def machine_for(spec: RunSpec, node: Node, files: Files, kept: KeptOperations | None = None) -> Machine:
    """Machine of one life of a node. `kept`: a client's operations are added to it."""
    if spec.topology.metadata == KRAFT and {"broker", "controller"} & set(node.roles):
        return _kraft_machine(spec, node, files)
    servers = [server.name for server in spec.topology.with_role("session")]
    if "session" in node.roles:
        return SessionServer(
            node.name, servers, spec.tick_time_ms, spec.init_limit, spec.sync_limit, files,
            min_session_timeout_ms=spec.min_session_timeout_ms, max_session_timeout_ms=spec.max_session_timeout_ms,
        )  # fmt: skip
    if "broker" in node.roles:
        given = spec.harmless.get(node.name, {}) | spec.given.get(node.name, {})
        return BrokerNode(node, spec.gates(node.name), spec.settings[node.name], servers, files, given)
    if "controller" in node.roles:
        return ControllerNode(node, spec.gates(node.name), spec.settings[node.name], servers)
    brokers = [broker.name for broker in spec.topology.with_role("broker")]
    return ClientNode(node.name, brokers, servers, spec.kafka_version, kept)


def _kraft_machine(spec: RunSpec, node: Node, files: Files) -> Machine:
    """Machine of a broker, a controller, or a node with both roles."""
    version, settings = spec.binary(node.name), spec.settings[node.name]
    if "broker" not in node.roles:
        return KraftControllerNode(node, spec.topology, settings, version, files, make_quorum_controller)
    given = spec.harmless.get(node.name, {}) | spec.given.get(node.name, {})
    gates = spec.gates(node.name)
    if "controller" not in node.roles:
        return KraftBrokerNode(node, spec.topology, gates, settings, files, given, version)

    def make_part(member: QuorumMember, out: Outbox) -> ControllerPart:
        return ControllerPart(settings, version, member, out, make_quorum_controller)

    return CombinedNode(node, spec.topology, gates, settings, files, given, version, make_part)
