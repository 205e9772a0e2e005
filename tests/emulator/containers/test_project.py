"""What is read from the engine's answers."""

from pathlib import Path

import pytest

from emulator.containers.project import Machine, control_host, machine_of, project_name, routes_in
from emulator.topology import three_azs


def machine(node: str, **addresses: str) -> Machine:
    return Machine(node, f"id-{node}", 7, {name.replace("_", "-"): ip for name, ip in addresses.items()})


def test_a_container_is_read_from_what_docker_inspects() -> None:
    inspected = {
        "Id": "abc",
        "State": {"Pid": 42},
        "Config": {"Labels": {"com.docker.compose.service": "broker-0"}},
        "NetworkSettings": {
            "Networks": {
                "faultline-x_az-0": {"IPAddress": "172.18.0.2"},
                "faultline-x_control": {"IPAddress": "172.19.0.2"},
                "faultline-x_az-0-az-1": {"IPAddress": ""},  # not attached while it does not run
            }
        },
    }
    assert machine_of("faultline-x", inspected) == Machine(
        "broker-0", "abc", 42, {"az-0": "172.18.0.2", "control": "172.19.0.2"}
    )


def test_nodes_dial_each_other_in_the_network_they_share_but_never_on_control() -> None:
    routes = routes_in(three_azs(brokers=6), {"broker-0": "172.19.0.2"})
    assert routes["broker-0"]["session-0"] == ("session-0.az-0", 9092)
    assert routes["broker-0"]["broker-3"] == ("broker-3.az-0", 9092)
    assert routes["broker-0"]["broker-1"] == ("broker-1.az-0-az-1", 9092)
    assert routes["broker-1"]["broker-0"] == ("broker-0.az-0-az-1", 9092)
    assert routes["broker-1"]["broker-1"] == ("broker-1.az-1", 9092), "a broker talks to its own controller"
    assert routes["observer"]["broker-0"] == ("172.19.0.2", 9092), "the player is outside every AZ"
    assert all(route["observer"] == ("observer", 9092) for route in routes.values()), "known, and dialled by nobody"


def test_a_node_without_a_running_container_has_no_host() -> None:
    with pytest.raises(LookupError, match="broker-1 has no running container"):
        control_host({"broker-0": machine("broker-0", control="1")}, "broker-1")


@pytest.mark.parametrize(
    ("run", "name"),
    [
        ("az-isolated-leader-20261121-1", "faultline-az-isolated-leader-20261121-1-"),
        ("My Run_2", "faultline-my-run-2-"),
        ("x" * 60, "faultline-" + "x" * 40 + "-"),
    ],
)
def test_projects_are_named_as_the_compose_tool_wants(run: str, name: str, tmp_path: Path) -> None:
    made = project_name(tmp_path / run)
    assert made.startswith(name) and len(made) == len(name) + 6
    assert made == project_name(tmp_path / "." / run) != project_name(tmp_path / "elsewhere" / run)
