"""The image and three-az on a Docker engine, with a stub for each node.

Networks, names, rights, and a clean end.

A project name and an image tag of their own, so that clusters that are up are left alone.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.topology import three_azs
from emulator.worlds.cluster_file.compose_files import named_topology
from emulator.worlds.cluster_file.networks import CONTROL, data_name, name_on
from emulator.worlds.containers.removal import remove_project
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.docker]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROJECT = f"faultline-test-{os.getpid()}"
NODES = [node for node in three_azs().nodes if node.az]
UP_LIMIT_S = PATIENCE_S


def run(*command: str, limit_s: float = UP_LIMIT_S) -> str:
    done = subprocess.run(
        command, check=False, cwd=ROOT,
        stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=limit_s,
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def of_project(what: str) -> list[str]:
    """Ids of the project's containers, networks or volumes."""
    listing = {"container": ("container", "ls", "--all"), "network": ("network", "ls"), "volume": ("volume", "ls")}
    return run("docker", *listing[what], "--quiet", "--filter", f"label=com.docker.compose.project={PROJECT}").split()


def container(node: str) -> str:
    labels = (f"com.docker.compose.project={PROJECT}", f"com.docker.compose.service={node}")
    [found] = run("docker", "container", "ls", "--quiet", *(f"--filter=label={label}" for label in labels)).split()
    return found


@pytest.fixture(scope="module")
def compose() -> tuple[str, ...]:
    if shutil.which("docker-compose"):
        return ("docker-compose",)
    if subprocess.run(["docker", "compose", "version"], check=False, capture_output=True).returncode == 0:
        return ("docker", "compose")
    pytest.skip("no docker compose")


@pytest.fixture(scope="module")
def cluster(image: str, compose: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nine containers that listen."""
    instead = {
        "command": ["python", "/tests/stub.py"],
        "volumes": [f"{HERE}:/tests:ro"],
    }
    override = tmp_path_factory.mktemp("compose") / "stubs.json"
    override.write_text(json.dumps({"services": {node.name: instead for node in NODES}}), encoding="utf-8")
    project = (*compose, "--project-name", PROJECT, "--file", str(named_topology("three-az")), "--file", str(override))
    try:
        run(*project, "up", "--detach", *(node.name for node in NODES))
        for node in NODES:
            _wait_until_listening(container(node.name))
        yield
    finally:
        remove_project(PROJECT)


def _wait_until_listening(container_id: str, times: int = 1) -> None:
    """Until it said so for the nth time: its log goes on from life to life."""
    with subprocess.Popen(
        ["timeout", str(UP_LIMIT_S), "docker", "logs", "--follow", container_id],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    ) as logs:  # fmt: skip
        assert logs.stdout is not None
        seen = []
        for line in logs.stdout:
            seen.append(line)
            if sum(one.startswith("listening") for one in seen) == times:
                logs.terminate()
                return
    raise AssertionError(f"{container_id} ended, or does not listen: {''.join(seen)}")


def test_the_image_has_the_project(image: str) -> None:
    imports = "import controller, protocol; from emulator.machines.node import specs; print(specs.RunSpec.__name__)"
    output = run("docker", "run", "--rm", "--read-only", "--network=none", image, "python", "-c", imports)
    assert output == "RunSpec\n"
    assert "three-az" in run("docker", "run", "--rm", "--network=none", image, "ls", "/faultline/code/compose")


def test_a_node_reaches_the_others_by_one_address_each_and_nothing_else(cluster: None) -> None:
    here = three_azs().node("broker-0")
    others = [node for node in NODES if node.name != here.name]
    places = [f"{data_name(node, seen_from=here)}:9092" for node in others]
    places += [f"{name_on(node.name, CONTROL)}:9091" for node in others]
    # A link of others: no name there leads anywhere from here.
    foreign = "broker-1.az-1-az-2:9092"
    found = json.loads(run("docker", "exec", container(here.name), "python", "/tests/probe.py", *places, foreign))
    refused = found["reached"].pop(foreign)
    assert found["reached"] == dict.fromkeys(places, 1)
    assert isinstance(refused, str)
    assert found["capabilities"] == 0
    assert found["no_new_privileges"] == "1"
    assert found["user"] == 10001
    assert found["writable"] == []


def test_the_health_check_sees_a_listener_and_only_then(cluster: None, image: str) -> None:
    check = json.loads(run("docker", "inspect", "--format", "{{json .Config.Healthcheck.Test}}", container("client-2")))
    assert check[0] == "CMD"
    run("docker", "exec", container("client-2"), *check[1:])
    command = ["docker", "run", "--rm", "--network=none", image, *check[1:]]
    alone = subprocess.run(command, check=False, timeout=UP_LIMIT_S)
    assert alone.returncode == 1


def test_a_kill_ends_the_node_and_a_start_brings_it_back(cluster: None) -> None:
    victim = container("broker-2")
    run("docker", "kill", "--signal", "KILL", victim)
    assert run("docker", "wait", victim) == "137\n"
    run("docker", "start", victim)
    _wait_until_listening(victim, times=2)
    reached = run("docker", "exec", container("broker-0"), "python", "/tests/probe.py", "broker-2.az-0-az-2:9092")
    assert json.loads(reached)["reached"] == {"broker-2.az-0-az-2:9092": 1}


def test_a_stop_is_received(cluster: None) -> None:
    run("docker", "stop", container("session-1"))
    [exited] = run("docker", "container", "ls", "--all", "--quiet", "--filter", "status=exited",
                   "--filter", f"label=com.docker.compose.project={PROJECT}").split()  # fmt: skip
    assert run("docker", "inspect", "--format", "{{.State.ExitCode}}", exited) == "0\n"


def test_down_leaves_nothing(cluster: None, compose: tuple[str, ...]) -> None:
    """The last one of this file: it ends the cluster."""
    assert of_project("container") and of_project("network") and of_project("volume")
    # One after the other: an engine that ends nine at once may not detach them for a long time.
    for one in of_project("container"):
        run("docker", "stop", "--time", "5", one)
    run(*compose, "--project-name", PROJECT, "--file", str(named_topology("three-az")), "down", "--volumes")
    assert (of_project("container"), of_project("network"), of_project("volume")) == ([], [], [])
