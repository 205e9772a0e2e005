"""Connections that are reset: clients and followers connect again, and no promise breaks."""

import pytest

from emulator.judging.judged import play_and_judge
from emulator.runs.resolve import resolve
from emulator.scenario.load import load_scenario
from emulator.scenario.scenario_model import Scenario


def scenario(reset: str) -> Scenario:
    return load_scenario(
        f"""
id: reset
title: connections are reset
kafka: ["2.8"]
steps:
  - start: [broker-0, broker-1, broker-2]
  - create-topic: {{topic: t, assignment: [[0, 1, 2]]}}
  - produce: {{broker: 0, values: [a], acks: all}}
  - {reset}
  - sleep: 3
  - produce: {{client: client-0, values: [b, c], acks: all, retries: 10}}
  - heal
  - settle: {{quiet_s: 1, limit_s: 30}}
  - snapshot: in the end
expectations:
  - text: every replica has every record
    snapshot: {{label: in the end, replicas: all, values: [a, b, c]}}
""",
        "reset.yaml",
    )


@pytest.mark.parametrize(
    ("reset", "at_least"),
    [("reset: az-0", 2), ("reset: {link: [0, 1]}", 1), ("reset: {az: 0, every_ms: 400}", 8)],
)
def test_a_run_with_resets_is_valid(reset: str, at_least: int) -> None:
    for seed in range(1, 4):
        verdict = play_and_judge(resolve(scenario(reset), "2.8"), seed, run="reset").verdict
        [fault] = verdict.faults
        assert verdict.exit_code == 0, verdict
        assert fault.took_effect and fault.healed and fault.frames_stopped >= at_least


def test_a_reset_of_idle_links_makes_the_run_unknown() -> None:
    idle = scenario("reset: {opened_by: client-2, to: client-1}")
    verdict = play_and_judge(resolve(idle, "2.8"), 1, run="reset").verdict
    assert verdict.exit_code == 3 and not verdict.faults[0].took_effect
