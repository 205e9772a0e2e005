"""Limits of configured values: the values in force."""

from typing import Any

from emulator.machines.node.specs import RunSpec
from emulator.machines.session.sessions import SessionLimits
from emulator.settings.timeout_settings import BROKER_SESSION, SESSION
from emulator.topology import ZOOKEEPER

OFFSETS_REPLICAS = "offsets.topic.replication.factor"


def limits_of(spec: RunSpec) -> SessionLimits:
    return SessionLimits(spec.tick_time_ms, spec.min_session_timeout_ms, spec.max_session_timeout_ms)


def bounded(spec: RunSpec, node: str) -> dict[str, tuple[Any, str]]:
    """{setting of a broker or controller: (value in force, reason)}, if it differs."""
    own = spec.settings[node]
    found: dict[str, tuple[Any, str]] = {}
    if spec.topology.metadata == ZOOKEEPER:
        limits = limits_of(spec)
        requested_ms = int(own[SESSION])
        session_ms = limits.negotiated_ms(requested_ms)
        if session_ms != requested_ms:
            found[SESSION] = session_ms, limits.because(requested_ms)
    brokers = len(spec.topology.with_role("broker"))
    if not spec.gates(node).offsets_topic_needs_all_brokers and own.get(OFFSETS_REPLICAS, 0) > brokers:
        found[OFFSETS_REPLICAS] = brokers, f"the topic has as many replicas as there are brokers, {brokers}"
    return found


def in_force(spec: RunSpec, node: str) -> dict[str, Any]:
    """Every setting of a broker or controller, as it is in force."""
    return spec.settings[node] | {name: value for name, (value, _) in bounded(spec, node).items()}


def session_timeout_ms(spec: RunSpec, node: str) -> int:
    """Session timeout of that node in force, in ms: with ZooKeeper, or with KRaft's controller."""
    return int(in_force(spec, node)[SESSION if spec.topology.metadata == ZOOKEEPER else BROKER_SESSION])
