"""A broker of a live cluster that others stop: the verdict is unknown and names it.

A pause by command is judged.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import psutil
import pytest

from audit.audited_run import audit_runs
from audit.following.follow_stream import Follow
from audit.following.live_audit_output import Telling
from audit.following.stream import streaming
from audit.input import find_runs
from emulator.cluster.control_requests import CreateTopic, Machine
from emulator.exit_codes import UNKNOWN
from emulator.runs.verdict_file import Verdict, exit_code
from protocol.ids import BrokerId
from tests.live.conftest import Live

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Up = Callable[..., Live]
STOPPED_MS = 8_000.0
"""Scenario time: longer than a session's 6 s."""
SPEED = 5.0
SETTINGS = {"auto_leader_rebalance_enable": False}


def pid_of(live: Live, node: str) -> int:
    """Processes of nodes are called after them."""
    live.look()
    return next(process.pid for process in live.seen if process.is_running() and process.name() == node)


def stop_for(live: Live, pid: int, ms: float = STOPPED_MS) -> None:
    """SIGSTOP, then SIGCONT when the cluster's clock has gone on by so much."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(live, ms)
    os.kill(pid, signal.SIGCONT)


def wait_for(live: Live, ms: float) -> None:
    """Until the cluster's clock, which runs SPEED times as fast as ours, has gone on by so much."""
    since_s = time.monotonic()
    live.until(lambda: (time.monotonic() - since_s) * SPEED * 1_000.0 >= ms)


def now_ms(live: Live) -> float:
    return float(live.status()["cluster"]["now_ms"])


def reported_since(live: Live, node: str, since_ms: float) -> Callable[[], bool]:
    """Whether the node has told how late its timers were after that time."""
    return lambda: any(
        event["event"] == "timer_lateness" and event["at_ms"] > since_ms for event in live.events(node, 1)
    )


def audited(live: Live, spark: SparkSession, tmp_path: Path) -> Verdict:
    [verdict] = audit_runs(spark, [live.directory], scratch=str(tmp_path / "scratch"))
    return verdict


def begin(up: Up) -> Live:
    live = up(speed=SPEED, **SETTINGS)
    live.did(CreateTopic("t", assignment=[[BrokerId(number) for number in range(3)]]))
    return live


def test_a_broker_that_others_stop_makes_the_verdict_unknown_and_is_named(
    up: Up, spark: SparkSession, tmp_path: Path
) -> None:
    """The audit of the whole run, and a follow of it."""
    live = begin(up)
    stop_for(live, pid_of(live, "broker-0"))
    live.until(reported_since(live, "broker-0", now_ms(live)))
    live.down()
    verdict = audited(live, spark, tmp_path)
    assert (verdict.valid, exit_code([verdict.valid])) == ("unknown", UNKNOWN)
    assert any(why.startswith("broker-0, incarnation 1, stood still for ") for why in verdict.unknown_because)
    printed: list[str] = []
    [directory] = find_runs([live.directory])
    with streaming(spark, directory, tmp_path / "following") as stream:
        telling = Telling(live.directory, printed.append, printed.append, json=False)
        assert Follow(directory, stream, telling).until_over(lambda: False) == UNKNOWN
    assert any("stood-still" in text and "broker-0" in text for text in printed)


def test_a_pause_by_command_is_judged_and_a_stop_right_behind_it_is_not(
    up: Up, spark: SparkSession, tmp_path: Path
) -> None:
    live = begin(up)
    live.did(Machine("pause", "broker-0"))
    wait_for(live, STOPPED_MS)
    live.did(Machine("resume", "broker-0"))
    live.did(Machine("pause", "broker-1"))
    pid = pid_of(live, "broker-1")
    stopper = threading.Thread(target=stop_when_it_runs, args=(pid,))
    stopper.start()
    live.ask(Machine("resume", "broker-1"), wait_s=0.1)
    stopper.join()
    stop_for(live, pid)
    live.until(reported_since(live, "broker-1", now_ms(live)))
    live.down()
    reasons = audited(live, spark, tmp_path).unknown_because
    assert any(why.startswith("broker-1, incarnation 1, stood still") for why in reasons)
    assert not any(why.startswith("broker-0") for why in reasons), "the pause alone"


def stop_when_it_runs(pid: int) -> None:
    process, deadline = psutil.Process(pid), time.monotonic() + 10.0
    while process.status() == psutil.STATUS_STOPPED and time.monotonic() < deadline:
        pass
    os.kill(pid, signal.SIGSTOP)


def test_a_broker_that_stands_still_until_it_is_killed_is_named(up: Up, spark: SparkSession, tmp_path: Path) -> None:
    live = begin(up)
    os.kill(pid_of(live, "broker-0"), signal.SIGSTOP)
    wait_for(live, STOPPED_MS)
    live.did(Machine("kill", "broker-0"))
    live.down()
    reasons = audited(live, spark, tmp_path).unknown_because
    assert any(why.startswith("broker-0, incarnation 1, stood still for ") for why in reasons)
