"""Recordings as input: one value of a real one is another, and `run` ends with 0 to 3."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from emulator.cli.commands.run import RunOptions, run_command
from emulator.runs import simulated
from emulator.scenario.recorded_conditions import MEANING
from tests.input_outcomes import ENDINGS, exit_code

GOLDEN = Path(__file__).parents[2] / "golden"
RECORDING = GOLDEN / "az-isolated-leader@2.8" / "1.json"
CASES = 150
WRONG: tuple[Any, ...] = (
    None, True, -1, 0, 99, 2**31, 2**63, 10**400, 1.5, 1e300, "", "x", "\ud800", "a" * 300, "0", [], [[]], {}, {"a": 1},
    [99], "session service answers", ["a"] * 20_000,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "MAX_MS", 120_000.0)


def _ended(document: Any, directory: Path) -> int:
    directory.mkdir()
    file = directory / "1.json"
    file.write_bytes(json.dumps(document).encode())
    options = RunOptions(
        scenario=str(file), world="sim", engine="process", driver="nodes", seed=1, speed=None, kafka_version=None,
        settings=(), out=directory / "run", audit="oracle", json=True,
    )  # fmt: skip
    return exit_code(lambda: run_command(options))


def _changed(chance: Random, document: Any) -> None:
    """One value of the script, of its settings or of the head is another or gone."""
    entries = [entry for entry in document["timeline"] if "do" in entry]
    place = chance.choice([document, document.setdefault("settings", {}), *entries, *entries])
    if not place:
        return
    key = chance.choice(list(place))
    if chance.random() < 0.2:
        del place[key]
    else:
        place[key] = chance.choice(WRONG)


@pytest.mark.parametrize("begin", range(0, CASES, 50))
def test_a_recording_with_another_value_ends_with_0_to_3(
    begin: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for number in range(begin, begin + 50):
        document = json.loads(RECORDING.read_text(encoding="utf-8"))
        _changed(Random(number), document)
        try:
            found.append(_ended(document, tmp_path / str(number)))
        except Exception as error:
            raise AssertionError(f"case {number}: {type(error).__name__}: {error}") from error
    capsys.readouterr()
    assert set(found) <= set(ENDINGS) and 2 in found


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
