"""Decoding of a compose file to a `ClusterFile`: every error with line and column."""

from collections.abc import Mapping
from pathlib import Path

from ruamel.yaml.nodes import Node

from emulator.scenario.document import ScenarioErrors, nearest
from emulator.scenario.topology_reading import MAX_NODES
from emulator.settings.setting import Value
from emulator.settings.setting_registry import UnusableSetting
from emulator.topology import KRAFT, OBSERVER, ZOOKEEPER, Topology
from emulator.topology import Node as ClusterNode
from emulator.worlds.cluster_file import settings as s
from emulator.worlds.cluster_file.cluster_model import ClusterFile
from emulator.worlds.cluster_file.services import ComposeReader, Entry, Service, check_networks, read_services
from protocol.gates import gates_for
from protocol.versions import DEFAULT_VERSION, UnknownVersion, UnusableProtocolVersion, ladder_name

SPEED_MIN, SPEED_MAX = 0.1, 100.0


class ClusterFileErrors(ScenarioErrors):
    """All errors of a compose file, in the order of the file: one line each."""


def cluster_of(text: str, path: Path, environment: Mapping[str, str]) -> ClusterFile:
    """Raises ClusterFileErrors with every error of the file."""
    reader = ComposeReader(environment)
    root = reader.document(text)
    cluster = None if root is None else _cluster(reader, root, path)
    if reader.problems:
        raise ClusterFileErrors(str(path), reader.problems)
    assert cluster is not None, "an error that is not reported"
    return cluster


def _cluster(reader: ComposeReader, root: Node, path: Path) -> ClusterFile | None:
    services_node = {key: value for key, _, value in reader.pairs(root, "a compose file")}.get("services")
    if services_node is None:
        reader.problem(root, "a compose file needs 'services'")
        return None
    services = read_services(reader, services_node)
    if not reader.problems:  # after an error in a node, these checks would only report it again
        _check_numbers(reader, services_node, services)
        check_networks(reader, services)
    for service in services:
        _check_variables(reader, service)
    version = _version(reader, services)
    session = _session(reader, services)
    in_zookeeper = any("session" in service.node.roles for service in services)
    nodes = (*(service.node for service in services), ClusterNode(OBSERVER, ("observer",), 0, ""))
    return ClusterFile(
        path=path,
        name=path.stem,
        topology=Topology(nodes, ZOOKEEPER if in_zookeeper else KRAFT),
        kafka_version=version,
        settings={service.node.name: _settings(reader, service, version) for service in services if _decides(service)},
        session=session,
        speed=_speed(reader, services),
    )


def _decides(service: Service) -> bool:
    """Whether Kafka's settings apply to it."""
    return "broker" in service.node.roles or "controller" in service.node.roles


def _check_numbers(reader: ComposeReader, place: Node, services: list[Service]) -> None:
    def count(role: str) -> int:
        return sum(role in service.node.roles for service in services)

    if len(services) > MAX_NODES:
        reader.problem(place, f"at most {MAX_NODES} nodes, got {len(services)}")
    for role in ("broker", "controller"):
        if not count(role):
            reader.problem(place, f"no service has the role {role}")
    if count("session") not in (0, 1, 3, 5):
        reader.problem(
            place, f"a session ensemble has 1, 3 or 5 servers, and a KRaft cluster none; got {count('session')}"
        )


def _check_variables(reader: ComposeReader, service: Service) -> None:
    for variable, entry in service.environment.items():
        if variable.startswith(s.KAFKA) and not _decides(service):
            reader.problem(entry.key, f"{variable}: Kafka's settings are for brokers and controllers")
        elif variable.startswith(s.ZOO) and "session" not in service.node.roles:
            reader.problem(entry.key, f"{variable}: ZooKeeper's settings are for session servers")
        elif variable.startswith(s.FAULTLINE) and variable not in s.OWN:
            reader.problem(entry.key, f"unknown variable {variable}{nearest(variable, s.OWN)}")
    name = service.environment.get(s.NODE)
    if name is None:
        reader.problem(service.place, f"{service.node.name} needs {s.NODE}: {service.node.name}")
    elif name.value != service.node.name:
        reader.problem(name.place, f"{s.NODE} is the service's name, {service.node.name}; got {name.value!r}")


def _common(reader: ComposeReader, services: list[Service], variable: str) -> Entry | None:
    """The one value of all services that have the variable."""
    given = [(service.node.name, service.environment[variable]) for service in services
             if variable in service.environment]  # fmt: skip
    if not given:
        return None
    first, entry = given[0]
    for _, other in given[1:]:
        if other.value != entry.value:
            reader.problem(
                other.place, f"{variable} is one for the cluster: {entry.value!r} at {first}, here {other.value!r}"
            )
    return entry


def _version(reader: ComposeReader, services: list[Service]) -> str:
    entry = _common(reader, services, s.VERSION)
    if entry is None:
        return DEFAULT_VERSION
    try:
        return ladder_name(entry.value)
    except UnknownVersion as error:
        reader.problem(entry.place, str(error))
        return DEFAULT_VERSION


def _speed(reader: ComposeReader, services: list[Service]) -> float:
    entry = _common(reader, services, s.SPEED)
    if entry is None:
        return 1.0
    try:
        speed = float(entry.value)
    except ValueError:
        speed = 0.0
    if not SPEED_MIN <= speed <= SPEED_MAX:
        reader.problem(entry.place, f"{s.SPEED}: a number from {SPEED_MIN:g} to {SPEED_MAX:g}, got {entry.value!r}")
        return 1.0
    return speed


def _settings(reader: ComposeReader, service: Service, version: str) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for variable, entry in service.environment.items():
        if not variable.startswith(s.KAFKA) or variable in s.OF_IMAGES:
            continue
        try:
            name, value = s.read_kafka(variable, entry.value, version)
            if name == "inter.broker.protocol.version":
                gates_for(version, str(value))
            found[name] = value
        except (UnusableSetting, UnusableProtocolVersion, UnknownVersion) as error:
            reader.problem(entry.key, str(error))
    return found


def _session(reader: ComposeReader, services: list[Service]) -> dict[str, Value]:
    ensemble = [service for service in services if "session" in service.node.roles]
    found: dict[str, Value] = {}
    for variable in dict.fromkeys(
        name for service in ensemble for name in service.environment if name.startswith(s.ZOO)
    ):
        entry = _common(reader, ensemble, variable)
        assert entry is not None, variable
        try:
            name, value = s.read_zoo(variable, entry.value)
            found[name] = value
        except UnusableSetting as error:
            reader.problem(entry.key, str(error))
    return found
