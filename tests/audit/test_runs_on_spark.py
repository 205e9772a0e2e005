"""`--master` of sim, sweep, advise and fuzz: executors play what this machine's cores would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.cli.on_spark import LOT_MAX, WAVE_LOTS_MAX, archive_in, on_session, waves
from emulator.exit_codes import UNKNOWN
from emulator.judging.campaigns.campaign_runs import CampaignOptions, CampaignWorker
from emulator.judging.campaigns.row import Row
from emulator.judging.campaigns.space import Space
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

REQUESTED = CampaignOptions(Space(scenario="az-isolated-follower", kafka_version="2.6", seeds=5))
FROM_THE_ARCHIVE = """
import sys
sys.path.insert(0, sys.argv[1])
from emulator.judging.campaigns.campaign_runs import CampaignOptions, CampaignWorker
from emulator.judging.campaigns.space import Space
import emulator
assert emulator.__file__.startswith(sys.argv[1]), emulator.__file__
space = Space(scenario="az-isolated-follower", kafka_version="2.6", seeds=5)
print(CampaignWorker(CampaignOptions(space)).play(3).outcome)
"""


def timeless(results: list[Row]) -> list[dict[str, object]]:
    fields = [{name: getattr(one, name) for name in one.__struct_fields__ if name != "wall_s"} for one in results]
    return sorted(fields, key=lambda one: str(one["seed"]))


@pytest.mark.spark
def test_seeds_that_executors_play_are_as_those_that_are_played_here(spark: SparkSession) -> None:
    with on_session(spark, CampaignWorker, REQUESTED, most=5) as play:
        there = list(play(range(5)))
    here = CampaignWorker(REQUESTED)
    assert timeless(there) == timeless([here.play(seed) for seed in range(5)])


@pytest.mark.spark
@pytest.mark.slow
def test_a_python_that_lacks_packages_of_runs_is_reported_in_one_line(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    words = ("sim", "az-isolated-follower", "--seeds", "1..1", "--master", "local[1]")
    done = subprocess.run(
        [sys.executable, "-m", "emulator", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        cwd=tmp_path, env={**os.environ, "PYSPARK_PYTHON": str(python)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (UNKNOWN, "")
    reported = (
        r"faultline sim: the executors' Python \(PYSPARK_PYTHON\): ModuleNotFoundError: No module named '[\w.]+'\n"
    )
    assert re.fullmatch(reported, done.stderr), done.stderr


@given(st.integers(0, 5_000), st.integers(1, 64))
def test_every_task_goes_out_once_in_lots_that_all_cores_get_some_of(count: int, cores: int) -> None:
    gone: list[int] = []
    for wave, lots in enumerate(waves(range(count), cores)):
        assert 1 <= len(lots) <= cores * min(WAVE_LOTS_MAX, 2**wave)
        assert all(1 <= len(lot) <= LOT_MAX for lot in lots)
        gone += [task for lot in lots for task in lot]
    assert gone == list(range(count))


def test_our_code_travels_with_its_scenarios_and_recordings(tmp_path: Path) -> None:
    """It needs nothing of the tree that it comes from."""
    with zipfile.ZipFile(archive_in(tmp_path)) as archive:
        archive.extractall(tmp_path / "unpacked")
    command = [sys.executable, "-c", FROM_THE_ARCHIVE, str(tmp_path / "unpacked")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == CampaignWorker(REQUESTED).play(3).outcome


@pytest.mark.parametrize(
    "words",
    [
        ("sim", "az-isolated-follower", "--seeds", "1..2"),
        ("sweep", "az-isolated-follower", "--set", "replica.lag.time.max.ms=10000,20000", "--seeds", "1..1"),
        ("fuzz", "--runs", "2"),
        ("advise", "--seeds", "1..1"),
    ],
    ids=lambda words: words[0],
)
def test_a_master_that_is_not_there_is_named_by_each_command(words: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "emulator", *words, "--master", "moon://crater", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (UNKNOWN, "")
    expected = "expected local[2], spark://HOST:PORT, k8s://URL or yarn"
    assert done.stderr == f"faultline {words[0]}: moon://crater: no Spark master; {expected}\n"
