"""The command line as a user has it: its own process, its words, its output and its end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from emulator.cli.app import main
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
COMMAND = (sys.executable, "-m", "emulator")
LIMIT_S = PATIENCE_S


class Ended(msgspec.Struct, frozen=True):
    """A command that has ended."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"faultline {' '.join(self.words)}\nended with {self.code}\n{self.out}\n{self.err}"


Faultline = Callable[..., Ended]


def run_command(*words: str | Path, limit_s: float = LIMIT_S, cwd: Path = ROOT) -> Ended:
    """Runs it to its end. No command of ours may ever show a traceback."""
    texts = tuple(map(str, words))
    done = subprocess.run(
        [*COMMAND, *texts], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s,
        check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    ended = Ended(texts, done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in ended.out + ended.err, str(ended)
    return ended


@pytest.fixture
def faultline() -> Iterator[Faultline]:
    """`faultline("run", "az-isolated-leader", ...)`. Afterwards no process of the test is left."""
    me = psutil.Process()
    before = set(me.children(recursive=True))
    yield run_command
    left = set(me.children(recursive=True)) - before
    assert not left, f"left running: {left}"


@pytest.fixture
def faultline_here(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ended]:
    """As `faultline`, in this process and an empty directory: for commands without processes."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path) -> Ended:
        texts = tuple(map(str, words))
        with pytest.raises(SystemExit) as end:
            main(list(texts))
        return Ended(texts, int(end.value.code or 0), *capsys.readouterr())

    return run
