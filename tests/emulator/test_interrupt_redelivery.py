"""An interrupt that Python swallowed comes once more: at a prompt, and in a destructor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pexpect
import pytest

from emulator import interrupt_redelivery
from emulator.interrupt_redelivery import interrupts_end_the_wait, redelivers_interrupts
from tests.patience import PATIENCE_S

LIMIT_S = PATIENCE_S
UNHEARD: Any = SimpleNamespace(exc_type=KeyboardInterrupt)
"""The argument that Python passes to its hook."""

AT_THE_PROMPT = """
import ctypes, functools, os, readline, signal
from audit.prompt import typed

# Readline calls it from C after the last look at signals and before its wait: what comes here, Python does not hear.
readline.set_startup_hook(functools.partial(ctypes.CDLL(None).kill, os.getpid(), signal.SIGINT))
try:
    print("typed", list(typed(())))
except KeyboardInterrupt:
    print("heard", signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.set_wakeup_fd(-1))
"""


@pytest.fixture
def received() -> Iterator[list[int]]:
    """The interrupts that Python heard."""
    numbers: list[int] = []

    def hear(number: int, frame: object) -> None:
        numbers.append(number)

    before = signal.signal(signal.SIGINT, hear)
    yield numbers
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_between_the_prompt_and_its_wait_is_received() -> None:
    child = pexpect.spawn(sys.executable, ["-c", AT_THE_PROMPT], encoding="utf-8", timeout=LIMIT_S)
    child.expect(pexpect.EOF)
    assert "heard True -1" in str(child.before)
    child.close()
    assert child.exitstatus == 0


def test_an_interrupt_at_the_prompt_is_received_once(received: list[int]) -> None:
    with interrupts_end_the_wait():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
    assert received == [signal.SIGINT]
    os.kill(os.getpid(), signal.SIGINT)
    assert received == [signal.SIGINT, signal.SIGINT], "the earlier handler is installed again"


def test_a_prompt_leaves_no_thread_and_no_descriptor(received: list[int]) -> None:
    before = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with interrupts_end_the_wait():
            os.kill(os.getpid(), signal.SIGINT)
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == before
    assert len(received) == 20


def test_where_interrupts_are_ignored_nothing_is_changed() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_end_the_wait():
            os.kill(os.getpid(), signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_in_a_destructor_comes_again() -> None:
    code = """
import os, signal
from emulator.interrupt_redelivery import redelivers_interrupts
class Dies:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
with redelivers_interrupts():
    dies = Dies()
    try:
        del dies
        while True:
            pass
    except KeyboardInterrupt:
        print("heard")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S, check=True)
    assert (done.stdout, done.stderr) == ("heard\n", "")


def test_an_interrupt_that_comes_again_too_soon_comes_a_third_time(
    monkeypatch: pytest.MonkeyPatch, received: list[int]
) -> None:
    """On a busy machine the thread that repeats the interrupt ends before its start does.

    The interrupt is raised in the hook, which cannot report it.
    """
    starts = []

    class Slow(threading.Timer):
        def start(self) -> None:
            starts.append(self)
            super().start()
            self.join(LIMIT_S)
            if len(starts) < 3:
                raise KeyboardInterrupt

    monkeypatch.setattr(threading, "Timer", Slow)
    with redelivers_interrupts():
        sys.unraisablehook(UNHEARD)
    assert len(starts) == 3
    assert received == [signal.SIGINT] * 3


def test_an_interrupt_that_has_not_come_again_is_raised_at_the_end(
    monkeypatch: pytest.MonkeyPatch, received: list[int]
) -> None:
    monkeypatch.setattr(interrupt_redelivery, "AGAIN_S", LIMIT_S)
    with pytest.raises(KeyboardInterrupt), redelivers_interrupts():
        sys.unraisablehook(UNHEARD)
    assert received == []
    with redelivers_interrupts():
        pass


def test_other_unraisable_errors_are_reported_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    class Dies:
        def __del__(self) -> None:
            raise ValueError("of its own")

    with redelivers_interrupts():
        dies = Dies()
        del dies
    assert [one.exc_type for one in reported] == [ValueError]
