"""A child process ends with its parent, whenever that is interrupted."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from audit.child_jvms import ended, interrupts_wait, started
from tests.patience import PATIENCE_S

ENDS = """
import os, signal, sys
from audit.child_jvms import started
import audit.child_jvms as module
if sys.argv[1] == "in between":
    real = module.subprocess.Popen
    class Slow(real):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            print(self.pid, flush=True)
            os.kill(os.getpid(), signal.SIGINT)
    module.subprocess.Popen = Slow
process = started([sys.executable, "-c", "import time; time.sleep(1000)"])
print(process.pid, flush=True)
if sys.argv[1] == "forked":
    if os.fork() == 0:
        sys.exit(0)
    os.wait()
    assert process.poll() is None, "a fork's end is not ours"
elif sys.argv[1] == "afterwards":
    os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize(("moment", "code"), [("in between", -2), ("afterwards", -2), ("forked", 0)])
def test_it_does_not_outlive_its_parent(moment: str, code: int) -> None:
    requested = [sys.executable, "-c", ENDS, moment]
    done = subprocess.run(
        requested, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=PATIENCE_S, check=False
    )
    (pid,) = {int(line) for line in done.stdout.split()}
    assert done.returncode == code and not psutil.pid_exists(pid), done.stderr


def test_one_that_has_ended_is_forgotten() -> None:
    process = started([sys.executable, "-c", ""])
    assert process.wait() == 0
    ended(process)
    ended(process)


def test_an_interrupt_comes_as_soon_as_it_may() -> None:
    seen = []
    whose = signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark, too, has one of its own in a process
    try:
        with pytest.raises(KeyboardInterrupt), interrupts_wait():
            os.kill(os.getpid(), signal.SIGINT)
            seen.append("went on")
        assert seen == ["went on"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, whose)


def test_what_is_ignored_stays_ignored_and_another_thread_touches_nothing() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_wait():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    found = []

    def other() -> None:
        with interrupts_wait():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [before]
