"""`faultline sim` and `faultline run --world sim`: what they print, and how they end."""

import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from emulator.cli.command_options import RunOptions, SimOptions
from emulator.cli.commands.run_simulated import run_simulated
from emulator.cli.commands.sim import sim_command
from emulator.cli.play_options import ScenarioSettings
from emulator.judging.campaigns.space import Space, UnusableSpace, parse_seeds
from emulator.packaged import GOLDEN
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]

WRONG = """
id: az-isolated-follower
title: expects what does not happen
kafka: [2.6]
steps:
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
expectations:
  - {text: broker-1 leads, state: {leader: 1}}
"""


def sim(scenario: str, seeds: str, *overrides: str, **given: Any) -> int:
    settings = ScenarioSettings(kafka_version=given.pop("kafka_version", None), overrides=overrides)
    return sim_command(scenario, SimOptions(seeds=seeds, settings=settings, **given))


def test_seeds_that_all_equal_real_kafka_end_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert sim("az-isolated-follower", "1..4") == 0
    out, err = capsys.readouterr()
    assert "az-isolated-follower on Kafka 2.6: 4 seeds\n" in out
    assert "4 equal az-isolated-follower@2.6/1.json" in out
    assert "        held in all: lost-acknowledged, duplicate," in out
    assert "        skipped in all: " in out and max(map(len, out.splitlines())) <= 110
    assert "4 of 4 traces differ" in out and "x real time" in out
    assert err == "", "a pipe gets no progress"


def test_a_campaign_that_was_compared_with_other_recordings_does_not_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows say what they equal: those that are there would equal nothing of what is there now."""
    (tmp_path / "golden").mkdir()
    assert sim("az-isolated-follower", "1..2", out=tmp_path / "c", golden=tmp_path / "golden") == 0
    capsys.readouterr()
    assert sim("az-isolated-follower", "1..2", out=tmp_path / "c") == 2
    assert "when recordings were others; give --out another directory" in capsys.readouterr().err
    assert sim("az-isolated-follower", "1..2", out=tmp_path / "c", golden=tmp_path / "golden") == 0


def test_the_summary_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert sim("az-isolated-leader", "3..5", json=True, kafka_version="2.8") == 0
    summary = msgspec.json.decode(capsys.readouterr().out)
    assert summary["recordings"] == {"az-isolated-leader@2.8/1.json": [3, 4, 5]}
    assert summary["checks"]["lost-acknowledged"] == {"violated": 3}
    assert (summary["seeds"], summary["different_traces"], summary["failures"]) == (3, 3, [])
    assert summary["simulated_s"] > 60 and summary["speed"] > 1


def test_a_recording_can_be_played(capsys: pytest.CaptureFixture[str]) -> None:
    recording = GOLDEN / "az-isolated-leader-acks-all@2.6" / "1.json"
    code = sim(str(recording), "1..2", json=True)
    summary = msgspec.json.decode(capsys.readouterr().out)
    assert summary["recordings"] == {"az-isolated-leader-acks-all@2.6/1.json": [1, 2]}
    # What the recording shows is what is expected of a run that equals it, its dual leader too.
    assert (code, summary["checks"]["dual-leader"]) == (0, {"violated": 2})


def test_failing_seeds_name_the_command_that_plays_them_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a wrong one.yaml"
    file.write_text(WRONG)
    assert sim(str(file), "7", "replica.lag.time.max.ms=3000") == 1
    out = capsys.readouterr().out
    assert "seed 7: broker-1 leads" in out
    replay = next(line for line in out.splitlines() if "faultline run" in line)
    assert shlex.split(replay) == [
        *("faultline", "run", str(file), "--world", "sim", "--seed", "7"),
        *("--set", "replica.lag.time.max.ms=3000"),
    ]


def test_a_wait_in_vain_is_one_line_for_all_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It ends at another moment in each; exit code 3."""
    script = tmp_path / "in-vain.yaml"
    steps, _ = WRONG.split("expectations:")
    script.write_text(steps.replace("az-isolated-follower", "in-vain") + "  - wait: {until: isr shrunk, limit_s: 2}\n")
    assert sim(str(script), "1..3") == 3
    reported = [line for line in capsys.readouterr().out.splitlines() if " not met: " in line]
    why = "step 5: wait 'isr shrunk' timed out after 2 s; set may_time_out: true to allow it"
    assert reported == [f"      3 not met: {why}: seeds 1, 2, 3"]


def test_the_replay_command_names_the_version() -> None:
    space = Space(scenario="az-isolated-leader", kafka_version="2.8", first_seed=3)
    assert space.replay(space.draw(0)) == "faultline run az-isolated-leader --world sim --seed 3 --kafka-version 2.8"


def test_a_run_that_differs_from_every_recording_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Valid as a scenario, but not what real Kafka did."""
    golden = tmp_path / "az-isolated-follower@2.6"
    golden.mkdir()
    recording = (GOLDEN / "az-isolated-follower@2.6" / "1.json").read_text()
    (golden / "1.json").write_text(recording.replace('"isr restored"', '"another condition"'))
    assert sim("az-isolated-follower", "1..2", golden=tmp_path) == 1
    assert "2 equal none: seeds 1, 2" in capsys.readouterr().out


@pytest.mark.parametrize(("given", "seeds"), [("1..3", [1, 2, 3]), ("7", [7]), (" 0 .. 1 ", [0, 1])])
def test_ranges_of_seeds(given: str, seeds: list[int]) -> None:
    assert list(parse_seeds(given)) == seeds


@pytest.mark.parametrize("given", ["", "..", "1..", "-1..2", "1...3", "1,2"])
def test_what_is_no_range_of_seeds(given: str) -> None:
    with pytest.raises(UnusableSpace):
        parse_seeds(given)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="one core: sim plays in its own process")
def test_an_interrupt_leaves_no_process() -> None:
    """SIGINT to the command alone, as `kill -INT` sends it."""
    words = [sys.executable, "-m", "emulator", "sim", "az-isolated-leader", "--seeds", "1..100000"]
    with ExitStack() as stack:
        running = stack.enter_context(
            subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        )
        stack.callback(running.kill)  # where the test fails, it would play for hours
        of_it = psutil.Process(running.pid)
        deadline = time.monotonic() + PATIENCE_S
        children: list[psutil.Process] = []
        while len(children) < 2 and time.monotonic() < deadline:
            children = of_it.children(recursive=True)
        assert len(children) >= 2, "it started no workers"
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130
    assert b"Traceback" not in err
    _, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
    assert alive == []


# --- run --world sim ---


def test_a_run_prints_its_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    resolved = resolve(find_scenario("az-isolated-leader"), "2.6")
    assert run_simulated(resolved, tmp_path / "run", RunOptions(world="sim", seed=3)) == 0
    out = capsys.readouterr().out
    assert "equals real Kafka: az-isolated-leader@2.6/1.json" in out
    assert "lost-acknowledged: violated (3), as expected" in out
    assert (tmp_path / "run" / "verdict.json").is_file()


def test_a_run_prints_its_verdict_as_json_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    resolved = resolve(find_scenario("az-isolated-leader"), "2.6")
    assert run_simulated(resolved, tmp_path / "run", RunOptions(world="sim", seed=3, json=True)) == 0
    out, err = capsys.readouterr()
    assert msgspec.json.decode(out) == msgspec.json.decode((tmp_path / "run" / "verdict.json").read_bytes())
    assert err == ""


def test_a_run_that_is_left_unjudged_has_no_verdict(tmp_path: Path) -> None:
    resolved = resolve(find_scenario("az-isolated-leader"), "2.6")
    assert run_simulated(resolved, tmp_path / "run", RunOptions(world="sim", seed=3, audit="none")) == 0
    assert not (tmp_path / "run" / "verdict.json").exists()
    assert (tmp_path / "run" / "observations.json").is_file()


def test_out_leaves_a_campaign_that_goes_on_where_it_was_cut_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Existing runs are not played again, and the summary is of all."""
    out = tmp_path / "c"
    assert sim("az-isolated-follower", "1..3", out=out, json=True) == 0
    first = msgspec.json.decode(capsys.readouterr().out)
    [part] = out.rglob("part-*.parquet")
    written = part.stat().st_mtime_ns
    assert (out / "2" / "verdict.json").is_file()
    assert sim("az-isolated-follower", "1..3", out=out, json=True) == 0
    again = msgspec.json.decode(capsys.readouterr().out)
    assert list(out.rglob("part-*.parquet")) == [part] and part.stat().st_mtime_ns == written
    timeless = {"wall_s", "speed"}
    assert {k: v for k, v in again.items() if k not in timeless} == {
        k: v for k, v in first.items() if k not in timeless
    }
    assert sim("az-isolated-follower", "1..4", out=out) == 2
    assert capsys.readouterr().err.endswith("holds a campaign that is of other runs; give --out another directory\n")


def test_a_parameter_is_in_the_replay_command() -> None:
    space = Space(scenario="it", parameters=("create-topic.assignment=[1, 0]",), first_seed=3)
    assert space.replay(space.draw(0)).endswith("--seed 3 --param 'create-topic.assignment=[1, 0]'")
