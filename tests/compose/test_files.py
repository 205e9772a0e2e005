"""The compose files: topologies, one confinement of services, accepted by the tools."""

import shutil
import subprocess
from copy import deepcopy
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from emulator.topology import KRAFT, Topology, three_azs
from emulator.worlds.cluster_file.compose_files import read_cluster_file, topologies
from emulator.worlds.cluster_file.interpolation import interpolate
from emulator.worlds.cluster_file.networks import networks_of
from tests.emulator.worlds.containers.test_kafka_ports import filled_in
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

FILES = topologies()

TOPOLOGIES = {
    "three-az": three_azs(),
    "dedicated-controllers": three_azs(controllers=3),
    "six-brokers": three_azs(brokers=6),
    "kraft-three-az": three_azs(metadata=KRAFT),
    "kraft-three-az-combined": three_azs(metadata=KRAFT, combined=True),
}

COMPOSE = (("docker", "compose"), ("docker-compose",))
"""The plugin, and the program of its own before it."""


@cache
def parsed(name: str) -> dict[str, Any]:
    """The file's content, which no test changes."""
    found: dict[str, Any] = YAML(typ="safe", pure=True).load(FILES[name])
    return found


def there(command: tuple[str, ...]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run([*command, "version"], check=False, capture_output=True, timeout=PATIENCE_S).returncode == 0


def test_every_file_is_one_of_these_topologies() -> None:
    assert set(FILES) == set(TOPOLOGIES)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_the_file_has_the_topology_of_its_name(name: str) -> None:
    cluster = read_cluster_file(FILES[name], {})
    assert cluster.topology == TOPOLOGIES[name]
    version = "4.4" if cluster.topology.metadata == KRAFT else "2.6"
    assert (cluster.kafka_version, cluster.speed) == (version, 1.0)


@pytest.mark.parametrize(("command", "name"), list(product(COMPOSE, FILES)))
def test_compose_accepts_the_file(command: tuple[str, ...], name: str) -> None:
    if not there(command):
        pytest.skip(f"no {' '.join(command)} here")
    arguments = ["--file", str(FILES[name]), "--profile", "audit", "config", "--quiet"]
    done = subprocess.run(
        [*command, *arguments], check=False, capture_output=True, encoding="utf-8", timeout=PATIENCE_S
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("name", FILES)
def test_every_service_is_confined(name: str, subtests: pytest.Subtests) -> None:
    for service, found in parsed(name)["services"].items():
        with subtests.test(service):
            _is_confined(found)


def _is_confined(found: dict[str, Any]) -> None:
    assert found["read_only"] is True
    assert found["cap_drop"] == ["ALL"]
    assert found["security_opt"] == ["no-new-privileges:true"]
    assert "10001" in found["user"]
    assert found["mem_limit"] and found["cpus"] and found["pids_limit"]
    assert found["restart"] == "no"
    assert set(found["logging"]["options"]) == {"max-size", "max-file"}
    assert all("size=" in mount for mount in found["tmpfs"])
    assert not {"privileged", "cap_add", "network_mode", "pid", "devices"} & set(found)
    assert all(port.startswith("127.0.0.1:") for port in found.get("ports", []))


@pytest.mark.parametrize("name", FILES)
def test_nodes_are_on_no_network_but_their_own_which_lead_nowhere_else(name: str) -> None:
    file, topology = parsed(name), TOPOLOGIES[name]
    for node in topology.nodes:
        if node.az:
            assert tuple(file["services"][node.name]["networks"]) == networks_of(node, topology.azs)
    assert [network for network, options in file["networks"].items() if not options.get("internal")] == ["outside"]
    assert [service for service, options in file["services"].items() if "outside" in options["networks"]] == ["control"]


def test_what_the_files_share_is_the_same_in_all() -> None:
    names = [key for key in parsed("kraft-three-az") if key.startswith("x-")]
    assert names
    shared = [{key: deepcopy(parsed(name)[key]) for key in names} for name in FILES]
    for one in shared:  # what the audit mounts is of all nodes
        del one["x-spark"]["volumes"]
        one["x-broker-environment"].pop("KAFKA_ZOOKEEPER_SESSION_TIMEOUT_MS", None)
        for environment in ("x-node-environment", "x-broker-environment"):
            del one[environment]["FAULTLINE_KAFKA_VERSION"]
    assert all(one == shared[0] for one in shared)


def mounts(file: dict[str, Any], service: str) -> dict[str, str]:
    """{path in the container, and mode: source}, the default of variables filled in."""
    found = (interpolate(volume, {}).partition(":") for volume in file["services"][service]["volumes"])
    return {target: source for source, _, target in found}


@pytest.mark.parametrize("name", FILES)
def test_a_node_mounts_its_own_events_and_disk_and_nothing_of_others(name: str) -> None:
    file = parsed(name)
    nodes = [node.name for node in TOPOLOGIES[name].nodes if node.az]
    for node in nodes:
        assert mounts(file, node) == {
            "/faultline/run/events": f"events-{node}",
            "/faultline/data": f"data-{node}",
            "/faultline/secret:ro": "secret",
        }
        assert file["services"][node]["environment"]["FAULTLINE_DATA_FOLDER"] == "/faultline/data"
    own = {f"{kind}-{node}" for kind in ("events", "data") for node in nodes}
    assert set(file["volumes"]) == own | {"events-control", "secret", "audit"}


@pytest.mark.parametrize("name", FILES)
def test_control_and_the_audit_have_a_folder_for_every_node(name: str) -> None:
    file = parsed(name)
    nodes = [node.name for node in TOPOLOGIES[name].nodes if node.az]
    events = {f"/faultline/run/events/{node}": f"events-{node}" for node in nodes}
    data = {f"/faultline/run/data/{node}": f"data-{node}" for node in nodes}
    control = mounts(file, "control")
    assert control.items() >= (events | data | {"/faultline/run/events": "events-control"}).items()
    read = {f"{target}:ro": volume for target, volume in events.items()}
    assert mounts(file, "audit") == read | {
        "/faultline/run": "audit",
        "/faultline/run/events/control:ro": "events-control",
    }


def test_volumes_may_be_directories(tmp_path: Path) -> None:
    """As `faultline up` has it.

    A directory that ends with a slash is in front of the node's name.
    """
    [source] = [
        interpolate(volume, {"FAULTLINE_EVENTS": f"{tmp_path}/"})
        for volume in parsed("three-az")["services"]["broker-1"]["volumes"]
        if "EVENTS" in volume
    ]
    assert source == f"{tmp_path}/broker-1:/faultline/run/events"


@pytest.mark.parametrize("name", FILES)
def test_control_is_given_the_file_it_is_in(name: str) -> None:
    control = parsed(name)["services"]["control"]
    mounted = control["environment"]["FAULTLINE_CLUSTER_FILE"]
    assert f"./{FILES[name].name}:{mounted}:ro" in control["volumes"]
    assert Path(mounted).stem == name


def test_topologies_are_not_mixed_up() -> None:
    """The comparison above can fail."""
    assert three_azs() != Topology(three_azs().nodes[1:])


CLIENTS = ("librdkafka", "kcat", "kcat-reader")


def with_clients(name: str) -> Path:
    return FILES[name].parent / "kafka" / FILES[name].name


@pytest.mark.parametrize(("command", "name"), list(product(COMPOSE, FILES)))
def test_compose_accepts_the_file_of_kafka_s_ports_and_clients(command: tuple[str, ...], name: str) -> None:
    if not there(command):
        pytest.skip(f"no {' '.join(command)} here")
    arguments = [*("--file", str(FILES[name]), "--file", str(with_clients(name))), "--profile", "kcat"]
    done = subprocess.run(
        [*command, *arguments, "--profile", "librdkafka", "config", "--services"], check=False, capture_output=True,
        encoding="utf-8", timeout=PATIENCE_S,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert {"load-topic", *(f"{kind}-{az}" for kind in CLIENTS for az in range(3))} <= set(done.stdout.split())


@pytest.mark.parametrize("name", FILES)
def test_clients_are_confined_but_for_their_network_and_have_the_ports_of_their_az(name: str) -> None:
    found = filled_in(YAML(typ="safe", pure=True).load(with_clients(name)), {})
    ours = {f"broker-{number}" for number in range(len(TOPOLOGIES[name].with_role("broker")))} | {"control"}
    published = {port.split(":")[1] for one in ours - {"control"} for port in found["services"][one]["ports"]}
    clients = {service: about for service, about in found["services"].items() if service not in ours}
    assert set(clients) == {"load-topic", *(f"{kind}-{az}" for kind in CLIENTS for az in range(3))}
    for service, about in clients.items():
        assert about["read_only"] and about["cap_drop"] == ["ALL"] and about["restart"] == "no"
        assert about["security_opt"] == ["no-new-privileges:true"] and "10001" in about["user"]
        assert about["mem_limit"] and about["cpus"] and about["pids_limit"] and about["profiles"]
        assert not {"privileged", "cap_add", "pid", "devices", "ports"} & set(about)
        assert all(mount.endswith(":ro") for mount in about.get("volumes", []))
        az = "3" if service == "load-topic" else service[-1]
        servers = about["environment"]["FAULTLINE_BOOTSTRAP"].split(",")
        assert len(servers) == len(ours) - 1
        assert {server.split(":")[1] for server in servers} <= published
        assert {server[-2] for server in servers} == {az}


def test_the_clients_are_the_same_in_all_files() -> None:
    shared = [
        {key: value for key, value in YAML(typ="safe", pure=True).load(with_clients(name)).items() if key[:2] == "x-"}
        for name in FILES
    ]
    assert len(shared[0]) == 5 and all(one == shared[0] for one in shared)
