"""`faultline compare`: what it prints and how it ends."""

import json
import shutil
from pathlib import Path

import pytest

from emulator.cli.commands.compare_command import compare_command

GOLDEN = Path(__file__).parents[3] / "golden"
SCENARIOS = Path(__file__).parents[4] / "scenarios"
LEADER = GOLDEN / "az-isolated-leader@2.6" / "1.json"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run that did what the recording did."""
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(LEADER, run / "observations.json")
    shutil.copy(SCENARIOS / "az-isolated-leader.yaml", run / "scenario.yaml")
    return run


def alter(run: Path, before: str, after: str) -> None:
    file = run / "observations.json"
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after, 1))


def test_equal(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare_command(run_dir, [LEADER]) == 0
    assert capsys.readouterr().out == f"{run_dir} equals {LEADER}\n"


def test_a_file_instead_of_a_run_and_a_folder_of_recordings(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare_command(run_dir / "observations.json", [GOLDEN]) == 0
    assert capsys.readouterr().out.endswith(f" equals {LEADER}\n")


def test_a_recording_by_its_name(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(run_dir.parent)
    for name in ("az-isolated-leader@2.6", "az-isolated-leader@2.6/1.json"):
        assert compare_command(run_dir, [Path(name)]) == 0
        assert capsys.readouterr().out == f"{run_dir} equals az-isolated-leader@2.6/1.json\n"


def test_what_lies_here_comes_before_a_name(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(run_dir.parent)
    shutil.copytree(LEADER.parent, "az-isolated-leader@2.6")
    shutil.move("az-isolated-leader@2.6/1.json", "az-isolated-leader@2.6/mine.json")
    assert compare_command(run_dir, [Path("az-isolated-leader@2.6")]) == 0
    assert capsys.readouterr().out.endswith(" equals az-isolated-leader@2.6/mine.json\n")


@pytest.mark.parametrize("given", ["az-isolated-leader@2.7", "az-isolated-leader@2.7/1.json"])
def test_a_name_that_no_recording_has(
    given: str, run_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(run_dir.parent)
    message = unusable(run_dir, [Path(given)], capsys)
    assert message.startswith(f"{given}: no such file or recording; nearest: az-isolated-leader@2.")


def test_differs(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alter(
        run_dir,
        '"value": "h", "acks": -1, "attempt": 1, "error": 0',
        '"value": "h", "acks": -1, "attempt": 1, "error": 7',
    )
    assert compare_command(run_dir, [GOLDEN / "az-isolated-leader@2.8", LEADER]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{run_dir} differs from {LEADER}, the nearest of 2: 1 difference",
        "  timeline[32].error (attempt 1 of h at broker-1, acks -1): expected 0, saw 7",
    ]


def test_json(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare_command(run_dir, [LEADER], json=True) == 0
    equal = json.loads(capsys.readouterr().out)
    assert equal == {"run": str(run_dir), "equal": True, "recording": str(LEADER), "races": [], "differences": []}
    alter(
        run_dir,
        '"label": "split", "replicas": {"broker-0": {"log": [[0, 0, "a"], ',
        '"label": "split", "replicas": {"broker-0": {"log": [',
    )
    assert compare_command(run_dir, [LEADER], json=True) == 1
    assert json.loads(capsys.readouterr().out)["differences"] == [
        {
            "where": "timeline[26].replicas.broker-0.log[0]",
            "about": "snapshot 'split'",
            "expected": [0, 0, "a"],
        }
    ]


RACE = """
races:
  - name: x-refused
    rule: semantics 1.6
    allows:
      - {of: timeline, where: {saw: attempt, value: x}, leaf: error, recorded: TimeoutError, instead: 6}
"""


def test_equal_by_a_race_of_the_scenario(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alter(
        run_dir,
        '"value": "x", "acks": 1, "attempt": 1, "error": "TimeoutError"',
        '"value": "x", "acks": 1, "attempt": 1, "error": 6',
    )
    assert compare_command(run_dir, [LEADER]) == 1
    capsys.readouterr()
    with (run_dir / "scenario.yaml").open("a") as scenario:
        scenario.write(RACE)
    assert compare_command(run_dir, [LEADER]) == 0
    assert capsys.readouterr().out == f"{run_dir} equals {LEADER}, by race x-refused (semantics 1.6)\n"


def unusable(run: Path, goldens: list[Path], capsys: pytest.CaptureFixture[str]) -> str:
    assert compare_command(run, goldens) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    return captured.err.removeprefix("faultline compare: ").rstrip("\n")


def test_a_missing_recording(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = GOLDEN / "min-insync@2.8" / "7.json"
    nearest = GOLDEN / "min-insync@2.8" / "2.json"
    assert unusable(run_dir, [missing], capsys) == f"{missing}: no such file; nearest: {nearest}"


def test_malformed_observations(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alter(run_dir, '"error": 0, "offset": 0}', '"error": [0], "offset": 0}')
    assert unusable(run_dir, [LEADER], capsys) == (
        f"{run_dir}/observations.json: timeline[7].error: expected a number or a text, got a list of 1"
    )


def test_cut_off_observations(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = run_dir / "observations.json"
    file.write_text(file.read_text()[:500])
    assert unusable(run_dir, [LEADER], capsys).startswith(f"{file}: not JSON: ")


def test_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert unusable(tmp_path, [LEADER], capsys) == f"{tmp_path}: holds no observations.json; was the run finished?"
    assert unusable(tmp_path / "run", [LEADER], capsys) == f"{tmp_path}/run: no such file"


def test_a_broken_scenario_beside_the_run(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run_dir / "scenario.yaml").write_text("id: x\ntitle: x\nsteps: [heel]\n")
    assert unusable(run_dir, [LEADER], capsys) == (f"{run_dir}/scenario.yaml:3:9: unknown verb 'heel'; nearest: heal")
