"""Runs compared with recordings: equal runs meet the recording's expectations."""

from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from audit.expected import expected_of
from emulator.cli.command_options import RunOptions
from emulator.cli.commands import run_simulated
from emulator.cli.commands.run_simulated import judge_into
from emulator.cli.commands.verdict_text import against_kafka, print_verdict
from emulator.judging.judged import play_and_judge
from emulator.judging.recording_match import equal_recording, recorded_as_played, recorded_versions
from emulator.packaged import GOLDEN
from emulator.runs.directory import prepare
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.scenario.load import load_scenario
from emulator.scenario.write import written

VIOLATING = str(GOLDEN / "kip101-case1@0.10.2" / "1.json")


def test_a_run_that_equals_its_recording_is_valid_whatever_it_violates() -> None:
    verdict = play_and_judge(resolve(find_scenario(VIOLATING)), 1, run="1").verdict
    violated = [name for name, check in verdict.checks.items() if check.verdict == "violated"]
    assert violated and all(verdict.checks[name].expected for name in violated)
    assert not any(check.expected for check in verdict.checks.values() if check.verdict == "held")
    assert (verdict.valid, verdict.exit_code) == (True, 0)


def test_a_run_that_does_not_equal_its_recording_has_no_such_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.judging.verdict_builder.equal_recording", lambda *_: "")
    verdict = play_and_judge(resolve(find_scenario(VIOLATING)), 1, run="1").verdict
    assert (verdict.valid, verdict.exit_code) == (False, 1)


def test_a_script_of_ones_own_has_no_such_excuse_either() -> None:
    """It says itself what it expects."""
    scenario = msgspec.structs.replace(find_scenario(VIOLATING), as_recorded=False)
    assert play_and_judge(resolve(scenario), 1, run="1").verdict.exit_code == 1


def test_the_audit_reads_from_the_run_that_it_equals_its_recording(tmp_path: Path) -> None:
    prepare(tmp_path / "run")
    resolved = resolve(find_scenario(VIOLATING))
    judge_into(tmp_path / "run", resolved, 1)
    assert expected_of(tmp_path / "run").all_violations
    assert load_scenario(written(resolved.scenario), "again.yaml").as_recorded


@pytest.mark.parametrize(
    ("scenario", "version", "message"),
    [
        ("az-isolated-leader", "2.6", "✓ equals real Kafka: az-isolated-leader@2.6/"),
        ("retry-idempotent", "2.6", "- no recording of real Kafka 2.6 for this scenario, only of 2.8"),
        ("leader-crash", None, "- no recording of real Kafka for this scenario"),
    ],
)
def test_a_run_states_its_relation_to_real_kafka(
    scenario: str, version: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    resolved = resolve(find_scenario(scenario), version)
    run = play_and_judge(resolved, 1, run="1")
    print_verdict(Console(width=200), msgspec.to_builtins(run.verdict), against_kafka(resolved, run.observations))
    assert f"\n  {message}" in capsys.readouterr().out


def test_with_other_settings_than_recorded_a_run_need_not_equal_a_recording() -> None:
    other = resolve(find_scenario("az-isolated-leader"), "2.6", {"replica.lag.time.max.ms": 4000})
    assert not recorded_as_played(other)
    mark, words = against_kafka(other, play_and_judge(other, 1, run="1").observations)
    assert words == "differs from the recordings of real Kafka, which were made with other settings"
    assert "✗" not in mark
    assert recorded_as_played(resolve(find_scenario("az-isolated-leader"), "2.6"))


def test_versions_are_in_their_order() -> None:
    assert recorded_versions("az-isolated-leader") == ["0.10.2", "1.1", "2.6", "2.8", "3.9"]
    assert recorded_versions("az-isolated-[leader]") == []
    resolved = resolve(find_scenario("leader-crash"))
    observations = play_and_judge(resolved, 1, run="1").observations
    assert equal_recording(resolved.scenario, "2.6", observations) is None


def test_a_run_without_judgement_is_neither_watched_nor_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(*args: object, **named: object) -> None:
        raise AssertionError("--audit none")

    monkeypatch.setattr(run_simulated, "play_and_judge", judged)
    resolved = resolve(find_scenario("min-insync"))
    assert run_simulated.run_simulated(resolved, tmp_path / "run", RunOptions(world="sim", audit="none")) == 0
    assert (tmp_path / "run" / "observations.json").exists()
    assert not (tmp_path / "run" / "verdict.json").exists()
    with pytest.raises(AssertionError, match="--audit none"):
        run_simulated.run_simulated(resolved, tmp_path / "judged", RunOptions(world="sim"))
