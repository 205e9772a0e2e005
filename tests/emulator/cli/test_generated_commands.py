"""Generated command lines and changed files: every command ends with 0 to 3, and 2 says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generated_inputs import tallied

pytestmark = pytest.mark.slow

CASES = 240
PART = 80


@pytest.mark.parametrize("first", range(0, CASES, PART))
@pytest.mark.parametrize("kind", ["commands", "files"])
def test_generated_inputs_end_with_0_to_3(
    kind: str, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(tallied(kind, range(first, first + PART), tmp_path / "work")) >= {0, 2}


def test_a_few_of_the_lines_as_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert tallied("processes", range(30), tmp_path / "work")[2]
