"""Recordings as input: one value of a real one is another, and `run` ends with 0 to 3."""

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.cli.command_options import RunOptions
from emulator.cli.commands.run_scenario import run_command
from emulator.runs import simulated
from emulator.scenario.recorded_conditions import MEANING
from tests.generated_inputs import tallied
from tests.generated_recordings import RECORDING
from tests.input_outcomes import ENDINGS, exit_code

pytestmark = pytest.mark.slow

CASES = 150


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "MAX_MS", 120_000.0)


def _ended(document: Any, directory: Path) -> int:
    directory.mkdir()
    file = directory / "1.json"
    file.write_bytes(json.dumps(document).encode())
    options = RunOptions(world="sim", out=directory / "run", audit="oracle", json=True)
    return exit_code(lambda: run_command(str(file), options))


@pytest.mark.parametrize("first", range(0, CASES, 50))
def test_a_recording_with_another_value_ends_with_0_to_3(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tallied("recordings", range(first, first + 50), tmp_path / "work")[2]


@pytest.mark.parametrize("until", sorted(MEANING))
def test_each_wait_of_the_recordings_is_played(until: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(RECORDING.read_text(encoding="utf-8"))
    wait = next(entry for entry in document["timeline"] if entry.get("do") == "wait")
    wait |= {"until": until, "limit_s": 1}
    assert _ended(document, tmp_path / "run") in ENDINGS[:2] + ENDINGS[3:]


@pytest.mark.parametrize("until", [None, "session service anwsers", "", 5])
def test_a_wait_that_no_recording_has_is_bad_input(
    until: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(RECORDING.read_text(encoding="utf-8"))
    wait = next(entry for entry in document["timeline"] if entry.get("do") == "wait")
    if until is None:
        del wait["until"]
    else:
        wait["until"] = until
    assert _ended(document, tmp_path / "run") == 2
    if until == "session service anwsers":
        assert "nearest: session service answers" in capsys.readouterr().err
