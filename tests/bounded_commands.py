"""Bounded commands in this process: no Java, no nodes, little time of a processor."""

from __future__ import annotations

import gc
import io
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import pytest

from emulator import toplevel_errors
from emulator.cli.app import _command
from emulator.exit_codes import HELD
from emulator.runs import simulated
from tests.input_outcomes import NoEnding

CPU_S: Final = 2.0
"""Then a command is interrupted, as by Ctrl-C: it was usable, and was at work."""
RUN_MS_MAX: Final = 60_000.0


class Ended(NamedTuple):
    """`code`: 0 to 3, or 130 of one that was interrupted."""

    code: int
    out: str
    err: str


def ended(words: Sequence[str]) -> Ended:
    """Run a command line. Raises NoEnding with the traceback where it ends with 70."""
    out, err = _stream(), _stream()
    with redirect_stdout(out), redirect_stderr(err), _interrupted_after(CPU_S):
        try:
            code = toplevel_errors.ended("faultline", lambda: _command(list(words)))
        except SystemExit as exits:
            code = exits.code if isinstance(exits.code, int) else 1
        except KeyboardInterrupt:
            code = 130
    if code == 130:
        _close_files()
    return Ended(code, _text(out), _text(err))


def _close_files() -> None:
    """Close files that an interrupt left open, between the opening and its `with`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


class _Bytes(io.BytesIO):
    name = "<stream>"


def _stream() -> io.TextIOWrapper:
    """As the interpreter makes its own, without a terminal."""
    return io.TextIOWrapper(_Bytes(), "utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@contextmanager
def _interrupted_after(cpu_s: float) -> Iterator[None]:
    before = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_s, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def bound_commands(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let commands start no Java and no node, and play on one core, within a test.

    `home`: what they take for the user's directories."""
    from audit import commands, spark_java, warm_spark
    from emulator.cli.commands import live_up, run_scenario
    from emulator.cluster.launch import NotUp

    def not_up(*_: object) -> NoReturn:
        raise NotUp("a test starts no cluster")

    def no_java(*_: object, **__: object) -> NoReturn:
        raise spark_java.SparkNotStarted("a test starts no Java")

    def raised(program: str, error: BaseException, log: str = "") -> NoReturn:
        raise NoEnding(f"ends with 70: {type(error).__name__}: {error}") from error

    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "TMPDIR"):
        (home / name).mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv(name, str(home / name))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JAVA_HOME", str(home / "java"))
    (home / "java").mkdir(exist_ok=True)
    (home / "java" / "release").write_text('JAVA_VERSION="25"\n')
    for module in (commands, warm_spark):
        monkeypatch.setattr(module, "own_session", no_java)
    monkeypatch.setattr(run_scenario, "_run_network", lambda *_: HELD)
    monkeypatch.setattr(live_up, "launch", not_up)
    monkeypatch.setattr(toplevel_errors, "bug", raised)
    monkeypatch.setattr(simulated, "MAX_MS", RUN_MS_MAX)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
