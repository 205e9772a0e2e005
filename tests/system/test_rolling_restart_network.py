"""Real processes: a rolling restart of six brokers in three AZs, on slow links, two ways.

It is orderly, or by kill.

The property over all versions and seeds is tests/simulated/test_rolling_restart.py; this is its core.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.simulated.test_rolling_restart import BROKERS, SESSION_MS, Way, script
from tests.system.conftest import ROOT
from tests.system.runs import events_of

SLOW = "az: 1, delay_ms: 60, jitter_ms: 40"
HEAD = f"""
id: rolling-restart-on-slow-links
title: every broker registers again
kafka: [2.8]
topology: {{brokers: 6}}
settings: {{zookeeper.session.timeout.ms: {SESSION_MS}, auto.leader.rebalance.enable: false}}
steps:
"""


@pytest.mark.network
@pytest.mark.parametrize(("version", "way"), [("1.1", "stop"), ("2.8", "stop"), ("2.8", "kill")])
def test_every_broker_registers_again(version: str, way: Way, tmp_path: Path) -> None:
    scenario, out = tmp_path / "rolling.yaml", tmp_path / "out"
    scenario.write_text(HEAD + script(way, SLOW, BROKERS), encoding="utf-8")
    words = ["run", str(scenario), "--kafka-version", version, "--speed", "5", "--audit", "none", "--out", str(out)]
    run = subprocess.run(
        [sys.executable, "-m", "emulator", *words], cwd=ROOT, check=False, timeout=PATIENCE_S, capture_output=True
    )
    assert run.returncode == 0, run.stdout.decode() + run.stderr.decode()
    ends = [event for event in events_of(out, "node_stopped") if event["node"].startswith("broker-")]
    assert [event["reason"] for event in ends if event["kind"] != "asked"] == []
    lives = {(event["node"], event["incarnation"]) for event in events_of(out, "node_started")}
    assert {(f"broker-{number}", 2) for number in BROKERS} <= lives
    expired = [event["owner"] for event in events_of(out, "session_ended") if event["reason"] == "expired"]
    assert len(set(expired)) == (0 if way == "stop" else len(BROKERS))
