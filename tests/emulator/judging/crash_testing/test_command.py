"""`python -m verification.kill_anywhere`: refusals, summaries, and output of a failed run."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from emulator.judging.crash_testing.crash_plan import drawn
from emulator.judging.crash_testing.crash_run import play_death
from emulator.judging.crash_testing.crash_seeds import DeathResult, DeathsOptions, play_seed
from verification import kill_anywhere


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--runs", "0"], "--runs 0: 1 to 1000000"),
        (["--scenario", "leader-crush"], "no scenario 'leader-crush'; the catalogue has: acks-0-loss, "),
        (["--kafka-version", "3.0"], "--kafka-version 3.0: one of 0.8.2, "),
        (["--scenario", "min-insync", "--kafka-version", "1.1"], "no scenario of these is for version 1.1"),
    ],
)
def test_unusable_arguments_are_named(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        kill_anywhere.main(words)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_good_runs_are_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "results" / "result.json"
    words = ["--runs", "1", "--first", "5", "--scenario", "follower-crash", "--results", str(target)]
    assert kill_anywhere.main(words) == 0
    summary = msgspec.json.decode(target.read_bytes())
    assert (summary["runs"], summary["first"], summary["good"], summary["failed"]) == (1, 5, 1, [])
    assert summary["by_scenario"] == {"follower-crash": 1}
    assert msgspec.json.decode(capsys.readouterr().out.encode()) == summary


def test_a_run_that_failed_is_reported_with_what_plays_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(plan: object) -> None:
        raise AssertionError("the log has a hole")

    monkeypatch.setattr("emulator.judging.crash_testing.crash_seeds.play_death", broken)
    assert kill_anywhere.main(["--runs", "1", "--first", "5", "--scenario", "follower-crash"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"seed 5: {drawn(5, ('follower-crash',)).text}"
    assert lines[1].startswith("    AssertionError at test_command.py:") and lines[1].endswith(": the log has a hole")
    assert lines[2] == (
        "    python -m verification.kill_anywhere --runs 1 --first 5 --world sim --scenario follower-crash"
    )


def test_rules_are_counted_by_runs() -> None:
    plan = drawn(1)
    results = [
        DeathResult(seed=1, plan=plan, deaths=1, allowed=("11.10",)),
        DeathResult(seed=2, plan=plan, deaths=2, allowed=("11.10", "4.2")),
        DeathResult(seed=3, plan=plan, failed=("lost: a",)),
    ]
    summary = kill_anywhere.summary_of(results, 2.0)
    assert (summary["good"], summary["failed"], summary["deaths"], summary["nobody_died"]) == (2, [3], 3, 1)
    assert summary["allowed"] == {"11.10": 2, "4.2": 1}


def test_a_result_tells_what_the_run_was() -> None:
    plan = DeathsOptions(("follower-crash",)).plan(2)
    result, died = play_seed(plan), play_death(plan)
    assert (result.deaths, result.simulated_s) == (died.attendant.deaths, round(died.world.now_ms / 1000, 3))
    assert result.settled_s == round(died.settled_ms / 1000, 3) and result.good


def test_an_interrupt_sums_up_what_was_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(make: object, requested: DeathsOptions, seeds: range) -> Iterator[DeathResult]:
        yield DeathResult(seed=seeds[0], plan=requested.plan(seeds[0]), deaths=1)
        raise KeyboardInterrupt

    monkeypatch.setattr(kill_anywhere, "on_all_cores", interrupted)
    assert kill_anywhere.main(["--runs", "20000"]) == 0
    printed = capsys.readouterr()
    assert msgspec.json.decode(printed.out.encode())["runs"] == 1
    assert printed.err == "interrupted; what was played is summed up\n"
