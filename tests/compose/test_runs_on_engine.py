"""Scenarios in containers, against real Kafka's recordings; faults of a live cluster.

A recording is met again; all of them, with either driver of cuts, are long (test_every_world). Faults of the live
cluster come from the command line.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from audit.input import AuditInputError, find_runs
from emulator.runs.run_events import read
from emulator.worlds.cluster_file.compose_files import named_topology
from emulator.worlds.containers.project import project_name
from emulator.worlds.containers.removal import remove_project
from emulator.worlds.containers.tool import compose
from emulator.worlds.packet_filter.rights import missing
from tests.patience import PATIENCE_S
from verification.every_world import play

pytestmark = [pytest.mark.docker]

ROOT = Path(__file__).parents[2]
COMMAND_LIMIT_S = PATIENCE_S


def faultline(home: Path, *words: str) -> dict[str, Any]:
    """The answer of a command that must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "emulator", *words, "--json"], cwd=home, check=False, stdin=subprocess.DEVNULL,
        capture_output=True, encoding="utf-8", timeout=COMMAND_LIMIT_S, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, f"faultline {' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def objects(project: str) -> list[str]:
    """The engine's objects of a project: containers, networks, volumes."""
    label = f"label=com.docker.compose.project={project}"
    listings = (("container", "ls", "--all"), ("network", "ls"), ("volume", "ls"))
    outputs = [
        subprocess.run(["docker", *listing, "--quiet", "--filter", label], check=True, capture_output=True).stdout
        for listing in listings
    ]
    return [one.decode() for output in outputs for one in output.split()]


def test_the_dual_leader_in_containers_equals_a_recording(image: str, tmp_path: Path) -> None:
    """The kernel cuts the links where this user may make it do so; nodes do in the next test."""
    world = "containers" if missing() else "containers, kernel"
    outcome = play("az-isolated-leader", "2.6", world, tmp_path / "run")
    assert outcome.equals, outcome


@pytest.mark.parametrize("topology", ["three-az", "kraft-three-az"])
def test_a_cluster_in_containers_is_broken_mended_and_gone(image: str, tmp_path: Path, topology: str) -> None:
    run = tmp_path / "runs" / "stays"
    faultline(tmp_path, "up", topology, "--engine", "docker", "--out", str(run))
    try:
        assert len(objects(project_name(run))) >= 9, "its containers are there to be seen"
        faultline(tmp_path, "topic", "create", "t", "--assignment", "0,1,2")
        faultline(tmp_path, "produce", "t", "a", "b", "--acks", "all")
        # Before the cut, which may take the controller away that a stop asks; and no kill: its session would outlive
        # the broker, and its next life die of that.
        faultline(tmp_path, "stop", "broker-1", "--wait", "30")
        faultline(tmp_path, "start", "broker-1", "--wait", "30")
        if topology == "kraft-three-az":
            killed = faultline(tmp_path, "kill", "active-controller")["node"]
            faultline(tmp_path, "start", killed)
        cut = faultline(tmp_path, "cut", "az-0")
        assert cut["applied"][0]["took_effect"], cut
        faultline(tmp_path, "heal")
        status = faultline(tmp_path, "status")
        assert all(node["alive"] for node in status["nodes"].values())
        assert {node["az"] for node in status["nodes"].values()} == {"az-0", "az-1", "az-2"}
    finally:
        faultline(tmp_path, "down")
    assert objects(project_name(run)) == []
    assert list((run / "data" / "broker-0" / "t-0").glob("*.log")), "its data stay"


HOSTILE = """
from pathlib import Path
import os, shutil, sys
# Everything that can be reached is read, and everything that can be written to is spoilt.
for folder, folders, names in os.walk("/"):
    folders[:] = [name for name in folders if Path(folder, name) not in map(Path, ("/proc", "/sys", "/dev", "/opt"))]
    found = [*folders, *names] if folder.startswith("/faultline") and not folder.startswith("/faultline/code") else []
    print(*(f"{folder}/{name}" for name in found), sep="\\n")
Path("/faultline/run/events/broker-1.1.jsonl").write_text("{}")
own = Path("/faultline/run/events/broker-0.1.jsonl")
line = own.read_text().splitlines()[0]
with own.open("a") as file:
    file.write(line.replace('"node":"broker-0"', '"node":"broker-1"') + "\\n")
for folder in ("/faultline/run/data/broker-1", "/faultline/run/events/broker-1", "/faultline/data/../broker-1"):
    try:
        Path(folder).mkdir()
    except OSError as error:
        print("refused", folder, error.errno)
Path("/faultline/data/t-0").rename("/faultline/data/kept")
Path("/faultline/data/t-0").symlink_to("/etc")
"""


@pytest.mark.slow
def test_a_hostile_container_reaches_nothing_of_others(image: str, tmp_path: Path) -> None:
    """It spoils what is its own, which is told; what others say and have stays as it was."""
    run = tmp_path / "runs" / "stays"
    faultline(tmp_path, "up", "three-az", "--engine", "docker", "--out", str(run))
    try:
        faultline(tmp_path, "topic", "create", "t", "--assignment", "0,1,2")
        faultline(tmp_path, "produce", "t", "a", "--acks", "all")
        [hostile] = (
            subprocess.run(
                ["docker", "ps", "--quiet", f"--filter=label=com.docker.compose.project={project_name(run)}",
                 "--filter=label=com.docker.compose.service=broker-0"], check=True, capture_output=True,
            ).stdout.decode().split()
        )  # fmt: skip
        message = subprocess.run(
            ["docker", "exec", hostile, "python", "-c", HOSTILE], check=True, capture_output=True, encoding="utf-8"
        ).stdout.splitlines()
        assert "/faultline/run/events/broker-0.1.jsonl" in message and "/faultline/data/t-0" in message, "it did look"
        assert not [line for line in message if "broker-2" in line or "session-" in line or "injector" in line]
        refused = [line.split()[1] for line in message if line.startswith("refused")]
        assert "/faultline/data/../broker-1" in refused
        faultline(tmp_path, "kill", "broker-0")
        lost = subprocess.run(
            [sys.executable, "-m", "emulator", "lose-disk", "broker-0"], cwd=tmp_path, check=False,
            capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert lost.returncode == 2 and "symbolic link" in lost.stdout + lost.stderr, lost
        status = faultline(tmp_path, "status")
        assert [name for name, node in status["nodes"].items() if not node["alive"]] == ["broker-0"]
    finally:
        faultline(tmp_path, "down")
    assert Path("/etc/hostname").exists()
    for node in ("broker-1", "broker-2"):
        assert all(event["node"] == node for event in read(run, {"node_started", "batch_appended"}, node)), node
        assert list((run / "data" / node / "t-0").glob("*.log"))
    foreign = run / "events" / "broker-0" / "broker-1.1.jsonl"
    with pytest.raises(AuditInputError, match=r"broker-1\.1\.jsonl: .* is in the folder of broker-0"):
        find_runs([run])
    assert {event["node"] for event in read(run, {"node_started"})} >= {"broker-0", "broker-1", "session-2"}
    foreign.unlink()
    assert len(find_runs([run])) == 1


def test_a_plain_compose_up_is_attached(image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTLINE_PORT", "0")
    project = f"faultline-plain-{os.getpid()}"
    of = ("--project-name", project, "--file", str(named_topology("three-az")))
    try:
        compose(*of, "up", "--detach", "--no-build", limit_s=COMMAND_LIMIT_S)
        attached = faultline(tmp_path, "attach", "three-az", "--project", project)
        assert (attached["name"], attached["ready"], attached["lacking"]) == (project, True, "")
        faultline(tmp_path, "topic", "create", "t", "--assignment", "0,1,2", "--wait", "30")
        here = faultline(tmp_path, "status")
        inside = json.loads(
            compose(*of, "exec", "-T", "control", "faultline", "status", "--json", limit_s=COMMAND_LIMIT_S)
        )
        assert set(here["partitions"]["t-0"]) == set(inside["partitions"]["t-0"])
        faultline(tmp_path, "down")
        assert len(objects(project)) > 0, "they are the compose tool's to end"
    finally:
        remove_project(project)
    assert objects(project) == []
