"""Sources of a scenario: a name, or a path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emulator.cli.commands.compare_command import compare_command
from emulator.packaged import GOLDEN
from emulator.runs.scenario_sources import NoScenario, find_scenario
from emulator.worlds.cluster_file.compose_files import NoClusterFile, named_topology

NAME = "az-isolated-leader@2.6/1.json"


def test_a_recording_is_played_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_scenario(NAME) == find_scenario(str(GOLDEN / NAME))


def test_what_is_called_nearly_like_a_scenario_is_a_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoScenario, match=r"nearest: az-isolated-leader$"):
        find_scenario("az-isolated-leadr")


def test_a_special_file_is_named_by_its_kind_and_never_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    for name, what in (("d.yaml", "is a directory"), ("pipe.yaml", "is no regular file")):
        with pytest.raises(NoScenario, match=f"{name}: {what}; a scenario is a YAML file$"):
            find_scenario(str(tmp_path / name))
        with pytest.raises(NoClusterFile, match=f"{name}: {what}; a topology is a compose file$"):
            named_topology(str(tmp_path / name))
    run = tmp_path / "run"
    run.mkdir()
    (run / "observations.json").write_bytes((GOLDEN / NAME).read_bytes())
    os.mkfifo(run / "scenario.yaml")
    assert compare_command(run, [Path(NAME)]) == 2
    assert capsys.readouterr().err.endswith("scenario.yaml: cannot be read: is no regular file\n")


def test_where_nothing_is_near_the_command_is_named_that_lists_all() -> None:
    with pytest.raises(NoScenario, match=r"no scenario or file 'xyz'; `faultline scenarios` lists the catalogue$"):
        find_scenario("xyz")
