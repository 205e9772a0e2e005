"""`faultline audit --follow` beside real processes.

It reports a cut's two leaders while they last.
"""

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from emulator.cluster.control_requests import CreateTopic, LinkFault, Produce
from emulator.cluster.newest_findings import FOLLOWING_FILE, read_newest
from emulator.exit_codes import BROKEN
from emulator.faults.link_words import parse
from tests.ids import brokers
from tests.live.conftest import Live
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.network, pytest.mark.spark]
SPEED = 2.0
LIMIT_S = PATIENCE_S


class Following:
    """The command, whose lines are read as they come."""

    def __init__(self) -> None:
        words = [sys.executable, "-m", "emulator", "audit", "--follow", "--json"]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self._lines: queue.Queue[tuple[float, dict[str, Any]]] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put((time.monotonic(), msgspec.json.decode(line)))

    def until(self, holds: Callable[[dict[str, Any]], bool]) -> tuple[float, dict[str, Any]]:
        """The line and the time of its arrival, by our clock."""
        deadline = time.monotonic() + LIMIT_S
        others: list[dict[str, Any]] = []
        while True:
            try:
                came_s, line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"not within {LIMIT_S:g} s; exit code {self.process.poll()}; other lines: {others}")
            if holds(line):
                return came_s, line
            others.append(line)

    def ended(self) -> int:
        code = self.process.wait(LIMIT_S)
        self._reader.join()
        return code


def test_two_leaders_and_their_cost_are_reported_while_it_happens(up: Callable[..., Live]) -> None:
    live = up(speed=SPEED)
    live.did(CreateTopic("t", [list(brokers(0, 1, 2))]))
    follow = Following()
    try:
        _, began = follow.until(lambda line: line["state"] == "following")
        assert (began["run"], began["runs"]) == ("three-az", True)
        live.did(Produce("t", ["a"], acks=-1))
        live.did(LinkFault(parse(["cut", "az-0"])))
        live.until(lambda: live.led(1) or live.led(2))  # a batch appended earlier would be of one leader alone
        attempts = live.did(Produce("t", ["b"], az="az-0", timeout_ms=5_000))["attempts"]
        assert attempts[-1]["error"] == 0, attempts
        reported_s, window = follow.until(lambda line: line.get("finding") == "dual-leader" and line["violation"])
        lost_s, lost = follow.until(lambda line: line.get("finding") == "lost-acknowledged")
        newest = read_newest(live.directory)
        assert newest is not None and newest.violations["dual-leader"] == 1
        latency_s = {"dual-leader": reported_s - happened_s(live, window), "lost": lost_s - happened_s(live, lost)}
        print(f"told after {latency_s}")  # shown by pytest -s
        assert all(seconds > 0 for seconds in latency_s.values()), latency_s
        assert (window["partition"], window["who"][0], window["to_ms"]) == ("t-0", "broker-0", None)
        assert lost["text"].startswith("'b' of client-0.1:1 was acknowledged (acks=1) at offset 1; the leader, ")
        live.down()
        assert follow.ended() == BROKEN
        _, end = follow.until(lambda line: line["state"] == "over")
        assert end["violations"]["dual-leader"] == 1 and end["lacking"] == []
        assert not (live.directory / FOLLOWING_FILE).exists()
    finally:
        follow.process.kill()
        follow.ended()


def happened_s(live: Live, line: dict[str, Any]) -> float:
    """The time of writing of the last event that shows it, by our clock."""
    names = [name.replace("/", ".").rsplit(".", 2) for name in line["events"]]
    numbers = {(node, int(life), int(seq)) for node, life, seq in names}
    lives = {(node, life) for node, life, _ in numbers}
    events = [(node, life, event) for node, life in lives for event in live.events(node, life)]
    at_ms: float = max(event["at_ms"] for node, life, event in events if (node, life, event["seq"]) in numbers)
    before_s = time.monotonic()
    now_ms: float = live.status()["cluster"]["now_ms"]
    return (before_s + time.monotonic()) / 2 - (now_ms - at_ms) / 1000 / SPEED
