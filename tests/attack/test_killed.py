"""SIGKILL for each kind of process: nothing is left that `down` does not remove, and what can be started again is.

A few of each; `python -m benchmarks.killed_processes` kills hundreds, over every engine and driver."""

import random
from pathlib import Path

import pytest

from benchmarks.killed_processes.left import Home
from benchmarks.killed_processes.trials import Ordered, Place, played
from emulator.containers.tool import DockerMissing, image_exists
from emulator.packet_filter.rights import missing
from emulator.runs.identity import mine
from emulator.runs.scratch import PREFIX

pytestmark = [pytest.mark.network, pytest.mark.timeout(180)]

LOCAL: Place = ("process", "nodes")
KERNEL: Place = ("process", "kernel")


def nothing_left(ordered: Ordered, folder: Path) -> None:
    trials = played(ordered, folder, random.Random(1))
    assert len(trials) == len(ordered.victims)
    assert not [(trial.killed, trial.problems) for trial in trials if trial.problems]


@pytest.mark.parametrize("victims", [("session-1", "owner"), ("fork server",)])
def test_of_a_cluster_that_stays(victims: tuple[str, ...], tmp_path: Path) -> None:
    nothing_left(Ordered("up", LOCAL, victims), tmp_path)


@pytest.mark.parametrize("victim", ["owner", "fork server", "session-0"])
def test_of_a_run(victim: str, tmp_path: Path) -> None:
    nothing_left(Ordered("run", LOCAL, (victim,)), tmp_path)


@pytest.mark.skipif(bool(missing()), reason="; ".join(missing()))
def test_of_a_cluster_in_network_namespaces(tmp_path: Path) -> None:
    nothing_left(Ordered("up", KERNEL, ("keeper client-1", "owner")), tmp_path)


@pytest.mark.docker
def test_of_a_cluster_in_containers(tmp_path: Path) -> None:
    try:
        if not image_exists("faultline:dev"):
            pytest.skip("no image faultline:dev: compose/build.sh makes it")
    except DockerMissing as lacking:
        pytest.skip(str(lacking))
    nothing_left(Ordered("up", ("docker", "nodes"), ("keeper client-1", "owner")), tmp_path)


def test_scratch_of_a_killed_audit_is_removed_by_down(tmp_path: Path) -> None:
    home = Home(tmp_path, docker=False)
    dead = mine().text().replace(f"{mine().pid}-{mine().ticks}", f"{mine().pid}-1", 1)
    (tmp_path / "tmp" / f"{PREFIX}abc-{dead}").mkdir()
    (tmp_path / "tmp" / f"{PREFIX}abc-{mine().text()}").mkdir()
    assert [one.partition(PREFIX)[2] for one in home.left()] != []
    down = home.ran("down", "--all")
    assert down.code == 0, down.said
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == [f"{PREFIX}abc-{mine().text()}"]
