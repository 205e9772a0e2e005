"""Specs of a run's nodes, as plain data, and the machine made of each.

The data are msgpack-able, so that a forked process can receive them; nothing is pickled.
"""

from typing import Any

import msgspec

from emulator.machines.client.client_node import ClientNode
from emulator.machines.client.client_operations import KeptOperations
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.controller_node import ControllerNode
from emulator.machines.session.server import SessionServer
from emulator.storage.files import Files
from emulator.topology import Node, Topology
from protocol.gates import Gates, gates_for
from protocol.machine import Machine
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
        """inter.broker.protocol.version of a broker or controller."""
        return str(self.settings[node].get("inter.broker.protocol.version") or self.binary(node))

    def gates(self, node: str) -> Gates:
        """Gates of a broker's or controller's next incarnation."""
        protocol, written = self.protocol(node), str(self.settings[node].get("log.message.format.version") or "")
        return gates_for(self.binary(node), protocol, written if written not in ("", protocol) else None)

    def versions(self) -> tuple[str, ...]:
        """Versions of all brokers' and controllers' binaries, oldest first."""
        return tuple(sorted({self.binary(node) for node in self.settings} or {self.kafka_version}, key=rank))


def machine_for(spec: RunSpec, node: Node, files: Files, kept: KeptOperations | None = None) -> Machine:
    """Machine of one life of a node. `kept`: a client's operations are added to it."""
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
