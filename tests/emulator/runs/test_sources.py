"""Where a scenario comes from: a name, or a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.packaged import GOLDEN
from emulator.runs.sources import NoScenario, find_scenario

NAME = "az-isolated-leader@2.6/1.json"


def test_a_recording_is_played_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_scenario(NAME) == find_scenario(str(GOLDEN / NAME))


def test_what_is_called_nearly_like_a_scenario_is_a_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoScenario, match=r"nearest: az-isolated-leader$"):
        find_scenario("az-isolated-leadr")
