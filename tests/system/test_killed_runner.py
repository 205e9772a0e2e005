"""No process outlives the runner, and its nodes' files can be read and audited."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tests.patience import PATIENCE_S
from tests.system.conftest import COMMAND, ROOT, run_command
from tests.system.runs import events_of, wait_until

pytestmark = [pytest.mark.network, pytest.mark.spark]

KILLS = 12
WITH_SPARK = 2
"""Number of cases with a Java machine beside the cluster.

Its start alone takes as long as the others' whole run.
"""
AT_ONCE = 4
"""No timer's lateness is judged."""
LATEST_S = 2.0
SEED = 20_240_607


class Runner:
    """`faultline run` in a session of its own, as a terminal starts it."""

    def __init__(self, run: Path, *, audit: str) -> None:
        self.run = run
        words = [*COMMAND, "run", "az-isolated-leader", "--audit", audit, "--out", str(run)]
        self.process = subprocess.Popen(
            words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        )  # fmt: skip
        wait_until(run.parent, lambda: any((run / "events").glob("injector.*")))

    def go_on(self, seconds: float) -> None:
        """Lets it run for so long; it must not have ended by then."""
        with pytest.raises(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, how: int, *, group: bool) -> str:
        """Sends the signal; nothing of it is left afterwards. Returns what it printed."""
        family = self.descendants()
        if group:
            os.killpg(self.process.pid, how)
        else:
            os.kill(self.process.pid, how)
        try:
            out, _ = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)  # it tells where it stands
            raise AssertionError(f"it goes on:\n{self.process.communicate()[0]}") from None
        _, alive = psutil.wait_procs(family, timeout=PATIENCE_S)
        assert alive == [], f"outlived the runner: {alive}"
        _, alive = psutil.wait_procs(self.left(), timeout=PATIENCE_S)  # its Spark's keeper sees that it has ended
        assert alive == [], f"started while the runner ended, and outlived it: {alive}"
        assert "Traceback" not in out, out
        return out

    def left(self) -> list[psutil.Process]:
        """Processes of its session, and those that were told its directory."""
        found = []
        for process in psutil.process_iter():
            try:
                if os.getsid(process.pid) == self.process.pid or str(self.run) in " ".join(process.cmdline()):
                    found.append(process)
            except (ProcessLookupError, psutil.NoSuchProcess):
                continue
        return found


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Runs whose runner was killed, each at a moment of its own."""
    folder = tmp_path_factory.mktemp("killed")
    moments = random.Random(SEED)
    requested = [(folder / str(number) / "run", moments.uniform(0.0, LATEST_S)) for number in range(KILLS)]

    def kill(number: int) -> Path:
        run, moment_s = requested[number]
        run.parent.mkdir()
        runner = Runner(run, audit="spark" if number < WITH_SPARK else "none")
        runner.go_on(moment_s)
        assert runner.descendants(), "there was something to leave behind"
        runner.end(signal.SIGKILL, group=False)
        assert runner.process.returncode == -signal.SIGKILL
        return run

    with ThreadPoolExecutor(AT_ONCE) as lanes:
        yield list(lanes.map(kill, range(KILLS)))


def test_events_of_killed_runners_are_readable_and_auditable(killed: list[Path]) -> None:
    """One `faultline audit` of all: each is unknown, for it was cut short.

    No line is lost but a torn one.
    """
    for run in killed:
        assert {event["node"] for event in events_of(run, "machine_fault")} <= {"injector"}
    ended = run_command("audit", *killed, "--json")
    assert ended.code == 3, str(ended)
    verdicts: list[dict[str, Any]] = msgspec.json.decode(ended.out)
    assert len(verdicts) == KILLS
    for run, verdict in zip(killed, verdicts, strict=True):
        assert verdict["valid"] == "unknown"
        assert any("the run was cut short" in reason for reason in verdict["unknown_because"]), verdict
        assert verdict["quarantine"]["lines"] == 0, verdict["quarantine"]
        assert (run / "verdict.json").is_file() and (run / "report.html").is_file()


@pytest.mark.parametrize("group", [True, False], ids=["at the terminal", "to the runner alone"])
@pytest.mark.parametrize("audit", ["none", "spark"])
def test_an_interrupt_ends_with_130_and_leaves_nothing(tmp_path: Path, audit: str, group: bool) -> None:
    """Ctrl-C reaches the terminal's whole process group, `kill -INT` the runner alone."""
    runner = Runner(tmp_path / "run", audit=audit)
    wait_until(runner.run / "events", lambda: any(events_of(runner.run, "operation_ended")))
    out = runner.end(signal.SIGINT, group=group)
    assert runner.process.returncode == 130, out
    assert out.splitlines()[-1].startswith("faultline run: interrupted; its files are in"), out
    assert any(event["outcome"] == "ok" for event in events_of(runner.run, "operation_ended"))
