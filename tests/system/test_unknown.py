"""Runs that cannot be judged are unknown to every judge: exit code 3, and the reason.

They are neither right nor wrong.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import pytest
import trio

from emulator.cli.command_options import RunOptions
from emulator.cli.commands.run_simulated import run_simulated
from emulator.runs.directory import prepare, write_observations, write_scenario
from emulator.runs.network_run import play_network
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.reports import HealReport
from tests.patience import PATIENCE_S
from tests.system.conftest import COMMAND, ROOT, run_command
from tests.system.runs import audited, has_event, process_of, short, wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIMULATED = RunOptions(world="sim")
CUT_OF_NOTHING = ("cut: {link: [client-0, client-1]}", "sleep: 2", "heal", "sleep: 1")
CUT_AND_HEAL = ("cut: {link: [0, 1]}", "sleep: 3", "heal", "sleep: 8")
PAUSE = ("sleep: 5",)
LONG_PAUSE = ("sleep: 20",)
WAIT_IN_VAIN = ("wait: {until: isr shrunk, limit_s: 2}", "sleep: 1")
REGISTERED_STILL = ("kill: 1", "start: 1", "sleep: 2")
"""The session of broker-1's first life lasts 6 s: its second may not register."""

WHY = {
    "idle cut": "fault 'cut client-0 client-1' stopped nothing: no traffic met it",
    "sabotaged heal": "fault 'cut broker-0 broker-1' did not heal: still in force at broker-1",
    "late": "timers were later (p99.9) than 150 ms, a tenth of the shortest time-out: ",
    "killed by a stranger": "broker-1 ended by itself at ",
    "ended by a stranger": "session-2 ended by itself at ",
    "refused registration": "broker-1 died by itself at ",
    "wait in vain": "step 6: wait 'isr shrunk' timed out after 2 s, at ",
}
VOUCHED = "late, and nothing else"
AT_ONCE = 3
"""Of those that are asked for another reason than how late they were."""


class Saboteur(Cluster):
    """Says that it has healed; broker-1 was never told."""

    async def heal(self, rule_id: str | None = None) -> list[HealReport]:
        deaf = self.processes.nodes["broker-1"]
        control, deaf.control = deaf.control, None
        try:
            return await super().heal(rule_id)
        finally:
            deaf.control = control


def played(run: Path, script: Path, interfere: Callable[[Path, psutil.Process], None] | None = None) -> None:
    """`faultline run` without an audit.

    `interfere` does something to its processes once the topic is written to.
    """
    words = [*COMMAND, "run", str(script), "--audit", "none", "--out", str(run)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        try:
            if interfere is not None:
                wait_until(run.parent, lambda: has_event(run, "operation_ended", outcome="ok"))
                interfere(run, psutil.Process(running.pid))
            out, _ = running.communicate(timeout=PATIENCE_S)
        finally:
            running.kill()
    assert "Traceback" not in out, out


def stand_still(run: Path, runner: psutil.Process, seconds: float = 1.6) -> None:
    """SIGSTOP from outside; the injector does not know it.

    1.6 s at speed 5 are 8 s of the scenario, and a session lasts 6 s.
    """
    broker = process_of(run, "broker-2", runner)
    broker.suspend()
    with pytest.raises(psutil.TimeoutExpired):
        broker.wait(seconds)
    assert broker.status() == psutil.STATUS_STOPPED
    broker.resume()


def stand_still_shortly(run: Path, runner: psutil.Process) -> None:
    """1500 ms of the scenario, without any consequence."""
    stand_still(run, runner, 0.3)


def killed_by_a_stranger(run: Path, runner: psutil.Process) -> None:
    process_of(run, "broker-1", runner).kill()


def ended_by_a_stranger(run: Path, runner: psutil.Process) -> None:
    process_of(run, "session-2", runner).send_signal(signal.SIGTERM)


def sabotaged(run: Path, script: Path) -> None:
    resolved = resolve(find_scenario(str(script)))
    prepare(run)
    write_scenario(run, resolved)
    ended = trio.run(lambda: play_network(resolved, run, seed=1, speed=5.0, make_cluster=Saboteur))
    write_observations(run, ended.observations)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> dict[str, dict[str, Any]]:
    """All those runs, audited at once: {what was done: its verdict.json}."""
    folder = tmp_path_factory.mktemp("unknown")
    runs = {what: folder / what.replace(" ", "-") for what in (*WHY, VOUCHED)}
    pause = short(folder, *PAUSE, name="pause.yaml")
    sabotaged(runs["sabotaged heal"], short(folder, *CUT_AND_HEAL, name="heal.yaml"))
    played(runs["late"], short(folder, *LONG_PAUSE, name="long.yaml"), stand_still)
    played(runs[VOUCHED], pause, stand_still_shortly)
    with ThreadPoolExecutor(AT_ONCE) as lanes:
        others = [
            lanes.submit(played, runs["idle cut"], short(folder, *CUT_OF_NOTHING, name="idle.yaml")),
            lanes.submit(played, runs["killed by a stranger"], pause, killed_by_a_stranger),
            lanes.submit(played, runs["ended by a stranger"], pause, ended_by_a_stranger),
            lanes.submit(played, runs["refused registration"], short(folder, *REGISTERED_STILL, name="refused.yaml")),
            lanes.submit(played, runs["wait in vain"], short(folder, *WAIT_IN_VAIN, name="wait.yaml")),
        ]
    for other in others:
        other.result()
    reported = audited(spark, list(runs.values()), folder / "scratch")
    assert [verdict["run"] for verdict in reported] == [run.name for run in runs.values()]
    return dict(zip(runs, reported, strict=True))


@pytest.mark.network
@pytest.mark.spark
@pytest.mark.parametrize("what", WHY)
def test_a_run_that_cannot_be_judged_is_unknown_with_the_reason(verdicts: dict[str, dict[str, Any]], what: str) -> None:
    verdict = verdicts[what]
    assert verdict["valid"] == "unknown"
    reasons = verdict["unknown_because"]
    assert any(reason.startswith(WHY[what]) for reason in reasons), reasons


@pytest.mark.network
@pytest.mark.spark
def test_lateness_is_reported_of_the_node_that_stood_still(verdicts: dict[str, dict[str, Any]]) -> None:
    [reason] = [reason for reason in verdicts["late"]["unknown_because"] if reason.startswith("timers were later")]
    assert reason.startswith(WHY["late"] + "broker-2 "), "the latest first"
    assert 6_000 < float(reason.removeprefix(WHY["late"] + "broker-2 ").partition(" ms")[0]) < 20_000
    assert re.search(r"and the run equals none of \d+ simulated seeds\. Play it again with --speed 1$", reason), reason
    assert verdicts["late"]["vouched_by"] == ""


@pytest.mark.network
@pytest.mark.spark
def test_lateness_that_changed_nothing_is_vouched_for(verdicts: dict[str, dict[str, Any]]) -> None:
    verdict = verdicts[VOUCHED]
    assert verdict["unknown_because"] == [] and verdict["valid"] is True
    assert verdict["measures"]["timers_late_ms"] > 1_000
    assert verdict["vouched_by"].endswith(" of 200 simulated")


@pytest.mark.network
@pytest.mark.spark
@pytest.mark.slow
def test_run_ends_with_3_when_its_cut_met_no_traffic(tmp_path: Path) -> None:
    """The whole command, Spark included."""
    run = tmp_path / "run"
    ended = run_command("run", short(tmp_path, *CUT_OF_NOTHING), "--out", run, "--json")
    assert ended.code == 3, str(ended)
    verdict = msgspec.json.decode(ended.out)
    assert verdict["valid"] == "unknown" and WHY["idle cut"] in verdict["unknown_because"]
    assert msgspec.json.decode((run / "verdict.json").read_bytes()) == verdict


# --- the simulated world ---


def test_a_step_that_cannot_be_done_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Steps of a repetition count each time, and `record` with two things is two."""
    script = short(tmp_path, "repeat: {times: 2, steps: [{record: [controller, partition-state]}]}", "start: 1")
    line = script.read_text().splitlines().index("  - start: 1") + 1
    last = len(script.read_text().splitlines())
    assert run_simulated(resolve(find_scenario(str(script))), tmp_path / "run", SIMULATED, str(script)) == 3
    assert line < last and f"{script}:{last}: faultline run: " in capsys.readouterr().err
