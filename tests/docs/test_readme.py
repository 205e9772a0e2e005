"""README.md and docs/first-steps.md: their length and their figures.

test_pages compares what their commands print.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generate.readme import as_fast_as, printed, recorded
from emulator.judging.recording_match import recorded_versions
from emulator.packaged import GOLDEN
from emulator.runs.scenario_sources import catalogue
from protocol.versions import LADDER

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE = re.sub(r"^```.*?^```", "", README, flags=re.DOTALL | re.MULTILINE)
FIRST_STEPS = (ROOT / "docs" / "first-steps.md").read_text(encoding="utf-8")
LINES_MAX = 60


def test_it_is_one_screen() -> None:
    assert len(README.splitlines()) <= LINES_MAX


def test_its_versions_are_those_that_were_recorded() -> None:
    versions = {version for name in catalogue() for version in recorded_versions(name)}
    versions |= {path.name.rpartition("@")[2] for path in GOLDEN.glob("random-*@*")}
    *some, last = sorted(versions, key=lambda version: [int(part) for part in version.split(".")])
    assert f"Versions {', '.join(some)} and {last} are held against recordings" in " ".join(PROSE.split())
    assert f"versions {LADDER[0]} to {LADDER[-1]}" in PROSE


def test_it_says_how_much_was_recorded() -> None:
    """In words that `make docs` finds, and keeps up to date."""
    assert recorded() in README


def test_the_tour_leaves_nothing_that_git_sees() -> None:
    written = re.findall(r"--out (\S+)|> ?(\S+\.\w+)$", README + FIRST_STEPS, flags=re.MULTILINE)
    assert written and all(out.startswith("runs/") and not redirected for out, redirected in written)
    assert "/runs/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_what_a_command_prints_is_what_is_shown(tmp_path: Path) -> None:
    assert printed("scenarios show leader-crash | grep id:", tmp_path).startswith("id:")
    with pytest.raises(AssertionError, match="no scenario or file"):
        printed("scenarios show no-such-scenario", tmp_path)


def test_speeds_stay_and_nothing_else_does() -> None:
    was = "a\n  799 s simulated in 1.2 s: 673 x real time\n0.3 s; the run is in runs/x\n"
    now = "b\n  801 s simulated in 9.9 s: 81 x real time\n7.7 s; the run is in runs/y\n"
    assert as_fast_as(was, now) == "b\n  801 s simulated in 1.2 s: 673 x real time\n0.3 s; the run is in runs/y\n"
    assert as_fast_as("nothing like it\n", now) == now
