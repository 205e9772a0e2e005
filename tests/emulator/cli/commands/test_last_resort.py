"""Top-level exception handling of a program."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from emulator.toplevel_errors import ended
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, "-m", "emulator")


def raising(error: BaseException) -> int:
    def work() -> int:
        raise error

    return ended("faultline", work)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Directory of tracebacks."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "error",
    [KeyError("az"), ValueError("no"), StopIteration(), OSError(errno.EBADF, "Bad file descriptor"), RecursionError(),
     BaseExceptionGroup("", [KeyError("az"), OSError(errno.ENOSPC, "full")])],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_a_bug_of_ours_ends_with_70_and_one_line_that_names_a_private_file(
    error: BaseException, temporary: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert raising(error) == 70
    [file] = temporary.iterdir()
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert str(file) in err and type(next(iter(getattr(error, "exceptions", (error,))))).__name__ in err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "Traceback (most recent call last)" in file.read_text()


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.ENOSPC, 3), (errno.EIO, 3), (errno.EMFILE, 3), (errno.EACCES, 2), (errno.EROFS, 2), (errno.ENOENT, 2)],
)
def test_what_the_world_did_is_one_line(
    number: int, code: int, temporary: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert raising(OSError(number, os.strerror(number), "/some/file")) == code
    assert capfd.readouterr().err == f"faultline: /some/file: {os.strerror(number)}\n"
    assert not list(temporary.iterdir())


def test_an_interrupt_in_a_group_is_an_interrupt(temporary: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert raising(BaseExceptionGroup("", [KeyError("a"), BaseExceptionGroup("", [KeyboardInterrupt()])])) == 130
    assert capfd.readouterr().err == "faultline: interrupted\n"


UNHEARD = """
import os, signal, sys
from emulator.toplevel_errors import ended

signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

class Broken:
    def __del__(self):
        raise LookupError("not an interrupt")

def work():
    Broken()
    Interrupted()  # Python prints what a destructor raises, and goes on
    while True:
        signal.pause()

sys.exit(ended("faultline", work))
"""


def test_a_swallowed_interrupt_is_delivered_again() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNHEARD], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        cwd=Path(__file__).parents[4],
    )  # fmt: skip
    assert done.returncode == 130
    assert "LookupError: not an interrupt" in done.stderr and "KeyboardInterrupt" not in done.stderr
    assert done.stderr.splitlines()[-1] == "faultline: interrupted"


def test_a_traceback_that_cannot_be_written_down_is_printed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", "/proc/nowhere")
        assert raising(KeyError("az")) == 70
    assert "Traceback" in capfd.readouterr().err


@pytest.mark.parametrize("words", [("scenarios",), ("doctor", "--json"), ("scenarios", "show", "kip101-case1")])
def test_a_full_disk_behind_the_output_is_one_line_and_3(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "faultline: <stdout>: No space left on device\n")


def test_a_reader_that_has_gone_is_no_error_of_ours() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run([*COMMAND, "scenarios"], stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "")


def test_a_place_that_cannot_be_written_to_is_named() -> None:
    done = subprocess.run(
        [*COMMAND, "run", "az-isolated-leader", "--world", "sim", "--out", "/proc/nowhere/run"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "faultline: /proc/nowhere: No such file or directory\n"
