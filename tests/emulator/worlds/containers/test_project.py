"""Readers of the engine's answers."""

import os
from pathlib import Path

import msgspec
import pytest

from emulator.identity import mine
from emulator.topology import three_azs
from emulator.worlds.cluster_file.compose_files import topologies
from emulator.worlds.containers import project as subject
from emulator.worlds.containers.project import (
    Machine,
    Project,
    control_host,
    machine_of,
    project_name,
    require_own_folders,
    routes_in,
)
from emulator.worlds.containers.removal import FOLDER_LABEL, OWN_FOLDER, OWNER_LABEL
from emulator.worlds.containers.tool import DockerFailed


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
    assert all(route["observer"] == ("observer", 9092) for route in routes.values()), "known, and dialled by no node"


def test_a_node_without_a_running_container_has_no_host() -> None:
    with pytest.raises(LookupError, match="broker-1 has no running container"):
        control_host({"broker-0": machine("broker-0", control="1")}, "broker-1")


SHARED = {
    "a volume": "${FAULTLINE_EVENTS:-events}:/faultline/run/events",
    "a directory": "/srv/events:/faultline/run/events",
    "the long form": {"type": "volume", "source": "data", "target": "/faultline/run/data"},
}


@pytest.mark.parametrize("volume", SHARED.values(), ids=list(SHARED))
def test_nodes_that_write_to_one_place_are_refused(volume: object) -> None:
    """As the compose files had it once, and copies of them may still."""
    services = {node: {"volumes": ["secret:/faultline/secret:ro", volume]} for node in ("broker-0", "broker-1")}
    with pytest.raises(DockerFailed, match=r"^broker-0 and broker-1 both mount .*-\}broker-1:/faultline/run/events "):
        require_own_folders(services)


def test_nodes_may_read_one_place_and_write_each_to_its_own() -> None:
    common = ["secret:/faultline/secret:ro", {"source": "secret", "target": "/x", "read_only": True}]
    own = {node: {"volumes": [*common, f"${{X:-events-}}{node}:/events"]} for node in ("broker-0", "broker-1")}
    require_own_folders({**own, "broker-2": {}})


@pytest.mark.parametrize(
    ("run", "name"),
    [
        ("az-isolated-leader-20261121-1", "faultline-az-isolated-leader-20261121-1-"),
        ("My Run_2", "faultline-my-run-2-"),
        ("x" * 60, "faultline-" + "x" * 40 + "-"),
    ],
)
def test_projects_are_named_as_the_compose_tool_requires(run: str, name: str, tmp_path: Path) -> None:
    made = project_name(tmp_path / run)
    assert made.startswith(name) and len(made) == len(name) + 6
    assert made == project_name(tmp_path / "." / run) != project_name(tmp_path / "elsewhere" / run)


def test_every_object_has_labels_of_its_run_and_its_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of them is the last that is left."""
    monkeypatch.setattr(subject, "compose", lambda *words, **_: None)
    monkeypatch.setattr(os, "chown", lambda *_: None)
    monkeypatch.setattr(os, "fchown", lambda *_: None)
    Project(topologies()["three-az"], tmp_path, three_azs()).up()
    added = msgspec.json.decode((tmp_path / OWN_FOLDER / "compose.json").read_bytes())
    labels = {OWNER_LABEL: mine().text(), FOLDER_LABEL: str(tmp_path / OWN_FOLDER)}
    for kind in ("services", "networks", "volumes"):
        assert added[kind], kind
        assert [about["labels"] for about in added[kind].values()] == [labels] * len(added[kind]), kind


def test_a_file_that_names_the_agent_by_its_former_place_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "compose", lambda *words, **_: None)
    monkeypatch.setattr(os, "chown", lambda *_: None)
    monkeypatch.setattr(os, "fchown", lambda *_: None)
    text = topologies()["three-az"].read_text()
    assert text.count("command: [python, -m, emulator, agent]") == 1
    file = tmp_path / "own.yml"
    file.write_text(text.replace("emulator, agent]", "emulator.world.network.container]"))
    for given, command in ((file, ["python", "-m", "emulator", "agent"]), (topologies()["three-az"], None)):
        run = tmp_path / given.stem
        Project(given, run, three_azs()).up()
        added = msgspec.json.decode((run / OWN_FOLDER / "compose.json").read_bytes())
        assert {str(about.get("command")) for about in added["services"].values()} == {str(command)}
