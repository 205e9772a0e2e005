"""A run may end in the midst of any fault: it is judged and written like another."""

from pathlib import Path

import pytest

from emulator.exit_codes import BUG
from emulator.judging.explain.promise_rules import gates_of
from emulator.judging.explain.sanity import insane
from emulator.judging.fuzzing.execute import tried
from emulator.judging.fuzzing.fuzz_runs import play_schedule
from emulator.judging.judged import play_and_judge
from emulator.judging.oracle.gathering import truth_of
from emulator.runs.directory import prepare, write_simulated
from emulator.runs.resolve import resolve
from emulator.scenario.load import load_scenario
from emulator.scenario.scenario_model import Scenario

LEFT = [
    "disk-error: 0",
    "disk-error: {node: 0, directory: d1}",
    "disk-full: 0",
    "disk-full: {node: 0, directory: d0}",
    "slow-disk: {node: 0, operation_ms: 5}",
    "clock-jump: {node: 0, jump_ms: 60000}",
    "pause: broker-0",
    "pause: session-0",
    "kill: 0",
    "kill: session-0",
    "power-loss: 0",
    "stop: 0",
    "lose-disk: 2",
    "cut: {az: 0}",
    "hold: {az: 0}",
    "delay: {az: 0, delay_ms: 500}",
    "loss: {az: 0, share: 0.5}",
    "bandwidth: {az: 0, bytes_per_s: 8000}",
    "reset: {az: 0, every_ms: 100}",
    "{background: again, start: 2}",
]


def left(step: str, settle: str) -> Scenario:
    return load_scenario(
        f"""
id: left-broken
title: "what is broken stays so"
kafka: ["2.8"]
topology: {{brokers: 3, sessions: 1, clients: 1, azs: 2}}
settings: {{zookeeper.session.timeout.ms: 6000, log.dirs: "d0,d1"}}
steps:
  - start: [broker-0, broker-1]
  - create-topic: {{topic: t, assignment: [[0, 1], [1, 0]]}}
  - produce: {{broker: 0, values: [a, b], acks: 1}}
  - {step}
{settle}
""",
        "left",
    )


@pytest.mark.parametrize("settle", ["", "  - sleep: 12"], ids=["at-once", "later"])
@pytest.mark.parametrize("step", LEFT)
def test_a_run_ends_in_the_midst_of_a_fault(tmp_path: Path, step: str, settle: str) -> None:
    scenario = left(step, settle)
    resolved = resolve(scenario)
    judged = play_and_judge(resolved, 1, run="left")
    assert judged.verdict.exit_code != BUG
    prepare(tmp_path / "run")
    write_simulated(tmp_path / "run", resolved, 1, judged.played.world, judged.observations)
    assert (tmp_path / "run" / "data" / "broker-0").is_dir()
    run = play_schedule(resolved, 1)
    list(insane(run.world, truth_of(run.world, run.operations, run.probe), gates_of(resolved)))
    assert not tried(scenario, 1).bug


STARTS = "{background: first, start: 2}\n%s  - {background: second, start: 2}"


@pytest.mark.parametrize(("between", "undone"), [("", 1), ("  - kill: 2\n", 0)], ids=["starting", "killed"])
def test_a_starting_broker_is_not_started_again_unless_it_was_killed(between: str, undone: int) -> None:
    trial = tried(left(STARTS % between, "  - sleep: 12"), 1)
    assert (trial.bug, trial.error, trial.broken) == ("", "", ())
    assert len(trial.undone) == undone
