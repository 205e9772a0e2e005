"""README.md and docs/first-steps.md: named versions, and files that their commands leave.

test_pages compares what their commands print.
"""

from __future__ import annotations

import re
from pathlib import Path

from emulator.judging.recording_match import recorded_versions
from emulator.packaged import GOLDEN
from emulator.runs.scenario_sources import catalogue
from protocol.versions import LADDER

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE = re.sub(r"^```.*?^```", "", README, flags=re.DOTALL | re.MULTILINE)
FIRST_STEPS = (ROOT / "docs" / "first-steps.md").read_text(encoding="utf-8")


def test_its_versions_are_those_that_were_recorded() -> None:
    versions = {version for name in catalogue() for version in recorded_versions(name)}
    versions |= {path.name.rpartition("@")[2] for path in GOLDEN.glob("random-*@*")}
    *some, last = sorted(versions, key=lambda version: [int(part) for part in version.split(".")])
    assert f"Versions {', '.join(some)} and {last} are compared with recordings" in " ".join(PROSE.split())
    assert f"versions {LADDER[0]} to {LADDER[-1]}" in PROSE


def test_the_tour_leaves_nothing_that_git_sees() -> None:
    written = re.findall(r"--out (\S+)|> ?(\S+\.\w+)$", README + FIRST_STEPS, flags=re.MULTILINE)
    assert written and all(out.startswith("runs/") and not redirected for out, redirected in written)
    assert "/runs/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
