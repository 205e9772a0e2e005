"""Scenarios played in containers: real Kafka's recordings, met again with either driver of cuts; and a cluster that
stays, broken from the command line."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.every_world import play
from emulator.cluster_file.files import named_topology
from emulator.containers.project import project_name
from emulator.containers.tool import DockerFailed, compose
from emulator.packet_filter.rights import missing

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
COMMAND_LIMIT_S = 120.0


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
    """What the engine has of a project: containers, networks, volumes."""
    label = f"label=com.docker.compose.project={project}"
    listings = (("container", "ls", "--all"), ("network", "ls"), ("volume", "ls"))
    outputs = [
        subprocess.run(["docker", *listing, "--quiet", "--filter", label], check=True, capture_output=True).stdout
        for listing in listings
    ]
    return [one.decode() for output in outputs for one in output.split()]


@pytest.mark.alone
def test_the_dual_leader_in_containers_equals_a_recording(image: str, tmp_path: Path) -> None:
    outcome = play("az-isolated-leader", "2.6", "containers", tmp_path / "run")
    assert outcome.equals, outcome


@pytest.mark.skipif(bool(missing()), reason="; ".join(missing()))
def test_a_link_cut_by_the_kernel_equals_a_recording(image: str, tmp_path: Path) -> None:
    outcome = play("link-broker-controller", "2.8", "containers, kernel", tmp_path / "run")
    assert outcome.equals, outcome


def test_a_cluster_in_containers_is_broken_mended_and_gone(image: str, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "stays"
    faultline(tmp_path, "up", "three-az", "--engine", "docker", "--out", str(run))
    try:
        assert len(objects(project_name(run))) >= 9, "its containers are there to be seen"
        faultline(tmp_path, "topic", "create", "t", "--assignment", "0,1,2")
        faultline(tmp_path, "produce", "t", "a", "b", "--acks", "all")
        # Before the cut, which may take the controller away that a stop asks; and no kill: its session would outlive
        # the broker, and its next life die of that.
        faultline(tmp_path, "stop", "broker-1", "--wait", "30")
        faultline(tmp_path, "start", "broker-1", "--wait", "30")
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


def ended(of: Sequence[str]) -> None:
    """The compose tool removes networks at once, while a busy engine is still about to let go of their containers; then
    it says so, and is asked again."""
    down = (*of, "down", "--volumes", "--timeout", "1")
    try:
        compose(*down, limit_s=COMMAND_LIMIT_S)
    except DockerFailed as error:
        if "has active endpoints" not in str(error):
            raise
        compose(*down, limit_s=COMMAND_LIMIT_S)


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
        ended(of)
    assert objects(project) == []
