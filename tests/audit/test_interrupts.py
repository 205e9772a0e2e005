"""An interrupt of `audit` and `sql` with a real Java: exit code 130, one line, no remains.

The suite's parent may ignore interrupts; processes started here do not (see the handlers in tests/conftest.py).
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from audit.sql_command import PROMPT
from emulator.exit_codes import INTERRUPTED
from tests.audit.trace import dual_leader
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.spark, pytest.mark.slow]
LIMIT_S = PATIENCE_S
LOOK_S = 0.03
OLD = b'{"valid": true, "old": true}\n'


class Command:
    """`faultline WORDS` on a terminal of its own; `shown`: its output so far."""

    def __init__(self, words: list[str], temporary: Path) -> None:
        self._ours, theirs = pty.openpty()
        self._temporary = str(temporary)
        self.shown = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "emulator", *words], stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, env={**os.environ, "TMPDIR": str(temporary), "TERM": "dumb"},
        )  # fmt: skip
        os.close(theirs)
        os.set_blocking(self._ours, False)

    def read(self) -> bool:
        """Whether there may be more."""
        try:
            data = os.read(self._ours, 65_536)
        except BlockingIOError:
            return True
        except OSError:  # Linux's word for the end of a terminal
            return False
        self.shown += data.decode()
        return bool(data)

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not holds():
            assert self.process.poll() is None and time.monotonic() < deadline, self.shown
            if select.select([self._ours], [], [], LOOK_S)[0]:
                self.read()

    def javas(self) -> list[psutil.Process]:
        """Java, and its keeper: processes with files in the command's folder."""
        return [one for one in psutil.process_iter() if any(self._temporary in word for word in _words(one))]

    def works(self) -> bool:
        """True when there is a Spark session.

        Java has its threads named, cut off after 15 characters.
        """
        for java in self.javas():
            for path in Path(f"/proc/{java.pid}/task").glob("*/comm"):
                with contextlib.suppress(OSError):  # a thread that ends under our eyes
                    if path.read_text().startswith("dag-scheduler"):
                        return True
        return False

    def interrupted(self) -> list[psutil.Process]:
        """Until it has ended; who was its child then."""
        javas = self.javas()
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(LIMIT_S) == INTERRUPTED, self.shown
        while self.read():
            pass
        os.close(self._ours)
        return javas


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it has ended, or is another user's
        return []


def before_java_answers(command: Command) -> None:
    command.until(lambda: bool(command.javas()))


def while_spark_works(command: Command) -> None:
    command.until(command.works)


def at_the_prompt(command: Command) -> None:
    command.until(lambda: command.shown.endswith(PROMPT))


@pytest.mark.parametrize(
    ("word", "moment"), [("audit", before_java_answers), ("audit", while_spark_works), ("sql", at_the_prompt)]
)
def test_it_ends_with_130_and_leaves_nothing(word: str, moment: Callable[[Command], None], tmp_path: Path) -> None:
    run, temporary = dual_leader().write(tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    (run / "verdict.json").write_bytes(OLD)
    before = files_of(run)
    command = Command([word, str(run)], temporary)
    try:
        moment(command)
        javas = command.interrupted()
    finally:
        command.process.kill()
        command.process.wait()
    assert javas and not [java for java in javas if java.is_running() and java.status() != psutil.STATUS_ZOMBIE]
    assert command.shown.splitlines()[-1] == "faultline: interrupted", command.shown
    assert "Traceback" not in command.shown and "py4j" not in command.shown.lower(), command.shown
    after = files_of(run)
    assert json.loads(after.pop("verdict.json")) and before.pop("verdict.json") == OLD
    after.pop("report.html", None)  # it comes after the verdict, and whole, too
    assert after == before
    assert not [*temporary.iterdir()]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
