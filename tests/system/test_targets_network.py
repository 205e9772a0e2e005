"""Real processes: steps that name the leader and the controller; waits and failed commands."""

import subprocess
import sys
from pathlib import Path

import pytest

from emulator.scenario.expect import judge
from emulator.scenario.load import load_scenario
from emulator.scenario.observations.recording_files import load
from tests.patience import PATIENCE_S
from tests.system.conftest import ROOT
from tests.system.runs import events_of, short

STEPS = (
    "cut: {link: [leader of t-0, 1]}",
    "sleep: 1",
    "heal: {link: [leader of t-0, 1]}",
    "kill: leader of t-0",
    "wait: {until: no leader, limit_s: 1, called: quick, may_time_out: true}",
    "wait: {until: new leader, limit_s: 60}",
    "create-topic: {topic: t, assignment: [1], may_fail: true}",
    "start: 0",
    "wait: {until: t-0 every ISR full, limit_s: 60}",
    "pause: active controller",
    "sleep: 1",
    "resume: active controller",
)
EXPECTED = """expectations:
  - {text: quick, wait: {called: quick, held: false}}
  - {text: full, wait: {called: t-0 every ISR full, held: true}}
  - {text: twice, admin: {verb: create-topic, topic: t, error: TOPIC_ALREADY_EXISTS}}
"""


@pytest.mark.network
def test_targets_waits_and_commands(tmp_path: Path) -> None:
    scenario, out = short(tmp_path, *STEPS), tmp_path / "out"
    scenario.write_text(scenario.read_text(encoding="utf-8") + EXPECTED, encoding="utf-8")
    words = ["run", str(scenario), "--world", "network", "--speed", "5", "--audit", "none", "--out", str(out)]
    run = subprocess.run(
        [sys.executable, "-m", "emulator", *words], cwd=ROOT, check=False, timeout=PATIENCE_S, capture_output=True
    )
    assert run.returncode == 0, run.stdout.decode() + run.stderr.decode()
    texts = [event["text"] for event in events_of(out, "scenario_step")]
    assert 'kill broker=0 targets={"leader of t-0":"broker-0"}' in texts
    faults = [(event["what"], event["target"]) for event in events_of(out, "machine_fault")]
    assert ("kill", "broker-0") in faults
    judged = judge(load_scenario(scenario.read_text(encoding="utf-8"), "x"), load(out / "observations.json"), {})
    assert [(one["text"], one["held"]) for one in judged] == [("quick", True), ("full", True), ("twice", True)]
