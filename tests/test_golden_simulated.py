"""Simulated runs against the recordings of real Kafka.

Each named scenario has five seeds, twenty in all tests; many are a matter of `faultline sim`.

Every seed must equal one of the recordings in its folder, or do so by a race that its scenario names. The random
schedules are judged by other rules (golden/README.md): tests/test_random_schedules.py. KRaft's are in
tests/test_recording_seeds.py.
"""

from functools import cache
from pathlib import Path

import pytest

from emulator.judging.campaigns.campaign_runs import CampaignOptions, CampaignWorker
from emulator.judging.campaigns.space import Space
from emulator.packaged import GOLDEN

SEEDS = (range(1, 6), pytest.param(range(6, 21), marks=pytest.mark.slow))
RACES = ("random-", "kraft-", "txn-")
FOLDERS = tuple(sorted(p.name for p in GOLDEN.iterdir() if p.is_dir() and not p.name.startswith(RACES)))
ROOT = Path(__file__).parents[1]


def played(folder: str) -> Path:
    """The recording whose script is played; a folder's others have the same."""
    return min((GOLDEN / folder).glob("*.json"))


@cache
def _worker(folder: str) -> CampaignWorker:
    return CampaignWorker(CampaignOptions(Space(scenario=str(played(folder)), first_seed=0, seeds=21)))


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds[0]}..{seeds[-1]}")
def test_every_seed_equals_a_recording(folder: str, seeds: range) -> None:
    wrong = [
        f"faultline run {played(folder).relative_to(ROOT)} --world sim --seed {result.seed}: "
        + (result.error or "\n    ".join(result.differences))
        for result in map(_worker(folder).play, seeds)
        if not result.recording
    ]
    assert not wrong, f"{len(wrong)} of {len(seeds)}\n" + "\n".join(wrong[:5])


def test_every_named_recording_is_played() -> None:
    assert len(FOLDERS) == 51
