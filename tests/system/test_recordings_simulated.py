"""Simulation: many seeds equal recordings, seeds differ, and one seed gives the same bytes.

200 seeds are `faultline sim SCENARIO --seeds 1..200`; here a few: tests/test_golden_simulated.py plays a hundred.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from tests.system.conftest import Faultline
from tests.system.runs import SCENARIOS, VERSIONS

pytestmark = pytest.mark.slow

SEEDS = 20
DIFFERENT = SEEDS * 190 // 200


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_seed_equals_a_recording_and_the_seeds_differ(faultline: Faultline, scenario: str, version: str) -> None:
    ended = faultline("sim", scenario, "--kafka-version", version, "--seeds", f"1..{SEEDS}", "--json")
    assert ended.code == 0, str(ended)
    assert ended.err == "", "a pipe gets no progress"
    summary = msgspec.json.decode(ended.out)
    equal = [seed for seeds in summary["recordings"].values() for seed in seeds]
    assert sorted(equal) == list(range(1, SEEDS + 1))
    assert summary["no_recording_equalled"] == [] and summary["failures"] == []
    assert summary["different_traces"] >= DIFFERENT


@pytest.mark.parametrize(("scenario", "version"), [("az-isolated-leader", "2.6"), ("az-isolated-controller", "2.8")])
def test_the_same_seed_gives_the_same_bytes_of_events_in_two_processes(
    faultline: Faultline, tmp_path: Path, scenario: str, version: str
) -> None:
    written: list[dict[str, str]] = []
    for folder, seed in (("a", 7), ("b", 7), ("c", 8)):
        run = tmp_path / folder / "run"
        ended = faultline(
            "run", scenario, "--world", "sim", "--kafka-version", version, "--seed", str(seed), "--out", run
        )
        assert ended.code == 0, str(ended)
        written.append({path.name: sha256(path.read_bytes()).hexdigest() for path in (run / "events").iterdir()})
    same, again, other = written
    assert len(same) >= 9 and same == again
    assert same != other
