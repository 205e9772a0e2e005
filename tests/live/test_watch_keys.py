"""`faultline status --watch` on a terminal, with a user at its keys."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable

import pytest

from emulator.cluster.control_requests import CreateTopic
from tests.ids import brokers
from tests.live.conftest import Live
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

LIMIT_S = PATIENCE_S


def _until(terminal: int, text: str) -> str:
    """The terminal's output until `text`."""
    shown, deadline = b"", time.monotonic() + LIMIT_S
    while text.encode() not in shown:
        assert time.monotonic() < deadline, shown.decode(errors="replace")[-2_000:]
        shown += os.read(terminal, 65_536)
    return shown.decode()


def test_a_broker_is_killed_and_started_and_an_az_cut_and_healed_by_keys(up: Callable[..., Live]) -> None:
    live = up()
    live.did(CreateTopic("t", [list(brokers(0, 1, 2))]))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    env = {**os.environ, "TERM": "xterm"}
    command = [sys.executable, "-m", "emulator", "status", "--watch", "--cluster", str(live.directory)]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=env,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
    ) as process, contextlib.ExitStack() as stack:  # fmt: skip
        os.close(theirs)
        stack.callback(process.kill)
        _until(ours, "c cut  h heal")
        for typed, shown in (
            ("kbroker-0\r", "kill broker-0: done"),
            ("cbroker-x\r", "did you mean broker-2?"),
            ("caz-1\r", "rule-1: cut az-1"),
            ("h\r", "healed: rule-1"),
        ):
            os.write(ours, typed.encode())
            _until(ours, shown)
        assert not live.status()["nodes"]["broker-0"]["alive"]
        os.write(ours, b"q")
        while True:
            try:
                if not os.read(ours, 65_536):
                    break
            except OSError:  # Linux's word for the end of a terminal
                break
        assert process.wait(LIMIT_S) == 0
    os.close(ours)
    live.bring_back()
