"""`up`: starts a supervisor, and keeps it once its cluster is ready."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from emulator.cluster.cluster_registry import KEEP, LOG_FILE, Found, registered
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import Answer, Ready
from emulator.cluster.ending import end_supervisor
from emulator.cluster.orphaned_resources import last_words

READY_LIMIT_S: Final = 60.0
READY_LIMIT_S_MAX: Final = 86_400.0
REGISTERED_LIMIT_S: Final = 120.0
"""Containers take their time."""
LOOK_S: Final = 0.02
READY_LOOK_S: Final = 0.5


class NotUp(Exception):
    """The cluster did not come up, with its reason in one line. `late`: it ran out of time."""

    def __init__(self, why: str, late: bool = False) -> None:
        super().__init__(why)
        self.late = late


class Held(NamedTuple):
    """A cluster that ends with the process that started it, when `process.stdin` is closed."""

    found: Found
    process: "subprocess.Popen[bytes]"


def launch(run_dir: Path, limit_s: float = READY_LIMIT_S, progress: Callable[[str], None] | None = None) -> Found:
    """Start the cluster of `run_dir` (with its live.json); return it when ready. Raises NotUp.

    The cluster stays. After NotUp or an interrupt nothing is left running.
    """
    found, process = launch_held(run_dir, limit_s, progress)
    assert process.stdin is not None
    process.stdin.write(KEEP + b"\n")
    process.stdin.flush()
    process.stdin.close()
    process.returncode = process.returncode or 0  # else Python warns: it lives on, and is not a child to wait for
    return found


def launch_held(
    run_dir: Path,
    limit_s: float = READY_LIMIT_S,
    progress: Callable[[str], None] | None = None,
    look: Callable[[], object] = lambda: None,
) -> Held:
    """Start the cluster as `launch` does; it ends with this process, however that ends.

    `look` is called every half second or sooner: an exception of it gives the cluster up. Raises NotUp.
    """
    process = _spawn(run_dir)
    kept = False
    try:
        found = _until_registered(run_dir, process, look)
        deadline = time.monotonic() + limit_s
        while True:
            answer = ask(found.registration, Ready(), min(READY_LOOK_S, limit_s))
            if answer.code == 0:
                break
            look()
            _check(answer, process, run_dir, deadline)
            if progress is not None:
                progress(answer.error)
        kept = True
        return Held(found, process)
    finally:
        if not kept:
            if process.stdin is not None:
                process.stdin.close()
            end_supervisor(process, run_dir, registered(run_dir))
            process.returncode = process.returncode or 0  # else Python warns: it has been ended


def _spawn(run_dir: Path) -> "subprocess.Popen[bytes]":
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    with (run_dir / LOG_FILE).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "emulator.cluster.supervisor", str(run_dir)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            bufsize=0,
        )


def _until_registered(run_dir: Path, process: "subprocess.Popen[bytes]", look: Callable[[], object]) -> Found:
    deadline = time.monotonic() + REGISTERED_LIMIT_S
    while time.monotonic() < deadline:
        look()
        found = registered(run_dir)
        if found is not None and found.registration.pid == process.pid and found.registration.port:
            return found
        if process.poll() is not None:
            raise NotUp(_last_words(run_dir, process.returncode))
        time.sleep(LOOK_S)
    raise NotUp(f"the supervisor was not ready within {REGISTERED_LIMIT_S:g} s", late=True)


def _check(answer: Answer, process: "subprocess.Popen[bytes]", run_dir: Path, deadline: float) -> None:
    if process.poll() is not None:
        raise NotUp(_last_words(run_dir, process.returncode))
    if answer.code == 2:
        raise NotUp(answer.error)
    if time.monotonic() >= deadline:
        raise NotUp(f"not ready in time: {answer.error}", late=True)


def _last_words(run_dir: Path, code: int) -> str:
    return last_words(run_dir) or f"the supervisor exited with code {code} and no output"
