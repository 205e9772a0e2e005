"""Simulated runs against the recordings of real Kafka: each named scenario, twenty seeds each, a hundred if there is
time.

Every seed must equal one of the recordings in its folder, or do so by a race that its scenario names. The random
schedules are judged by other rules (golden/README.md): tests/test_random_schedules.py.
"""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import pytest

from emulator.judging.seeds import SeedResult, SeedsAsked, Worker
from emulator.packaged import GOLDEN

SEEDS = (range(1, 21), pytest.param(range(21, 101), marks=pytest.mark.if_time_is_left))
CHUNK = 10
FOLDERS = tuple(sorted(p.name for p in GOLDEN.iterdir() if p.is_dir() and not p.name.startswith("random-")))
ROOT = Path(__file__).parents[1]


def played(folder: str) -> Path:
    """The recording whose script is played; a folder's others have the same."""
    return min((GOLDEN / folder).glob("*.json"))


@cache
def _worker(folder: str) -> Worker:
    """One per process and folder."""
    return Worker(SeedsAsked(str(played(folder))))


def _play(folder: str, seed: int) -> SeedResult:
    return _worker(folder).play(seed)


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds[0]}..{seeds[-1]}")
def test_every_seed_equals_a_recording(folder: str, seeds: range, processes: ProcessPoolExecutor) -> None:
    wrong = [
        f"faultline run {played(folder).relative_to(ROOT)} --world sim --seed {result.seed}: "
        + (result.error or "\n    ".join(result.differences))
        for result in processes.map(_play, [folder] * len(seeds), seeds, chunksize=CHUNK)
        if not result.recording
    ]
    assert not wrong, f"{len(wrong)} of {len(seeds)}\n" + "\n".join(wrong[:5])


def test_every_named_recording_is_played() -> None:
    assert len(FOLDERS) == 45
