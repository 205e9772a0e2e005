"""Generated settings files, played: what a run accepts ends with a verdict, what it refuses names file and line."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from emulator.cli.app import app
from protocol.versions import LADDER
from tests.emulator.settings.hostile_settings import file_of

pytestmark = pytest.mark.slow

FILES = int(os.environ.get("FAULTLINE_SETTINGS_FILES", "300"))
"""Ten thousand take some minutes."""
PART = 50
SCENARIO = """
id: generated-settings
title: Every client of a cluster, one broker killed
kafka: [2.8]
steps:
  - start: [0, 1, 2]
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {client: az-0, values: [a], acks: all}
  - workload: {name: load, rate: 5, group: readers}
  - pause: 3
  - kill: 0
  - pause: 3
  - start: 0
  - pause: 3
  - snapshot: end
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "generated-settings.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.mark.parametrize("first", range(0, FILES, PART))
def test_a_run_with_any_settings_file_ends_with_a_verdict_or_names_the_line(
    scenario: Path, tmp_path: Path, first: int, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(first, first + PART):
        chance = Random(seed)
        name, text = file_of(chance)
        file, version = tmp_path / name, chance.choice(LADDER)
        file.write_text(text, encoding="utf-8")
        words = ["run", str(scenario), "--world", "sim", "--audit", "oracle", "--kafka-version", version]
        code = app([*words, "--settings", str(file), "--out", str(tmp_path / str(seed))], result_action="return_value")
        said = capsys.readouterr()
        assert code in (0, 1, 2, 3), (seed, text, said.err)
        if code == 2:
            assert f"{file}:" in said.err, (seed, text, said.err)


def test_a_zookeeper_without_a_quorum_ends_the_run_as_unknown(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(scenario), "--world", "sim", "--set", "tickTime=1", "--out", str(tmp_path / "run")]
    assert app(words, result_action="return_value") == 3
    assert "ZooKeeper: no quorum after 60 s; raise tickTime or initLimit" in capsys.readouterr().err
