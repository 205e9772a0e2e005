"""A user of its own for one trial, which identifies the trial's processes and remains."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import psutil

from emulator.cluster.cluster_registry import Registration
from emulator.runs.scratch import PREFIX
from emulator.worlds.containers.project import project_name
from emulator.worlds.containers.removal import OWN_FOLDER, objects_of
from emulator.worlds.packet_filter.namespaces import NETNS_DIR, OWNERS_DIR

ROOT: Final = Path(__file__).resolve().parents[2]
COMMAND: Final = (sys.executable, "-m", "emulator")
COMMAND_LIMIT_S: Final = 180.0
GONE_LIMIT_S: Final = 15.0
LOOK_S: Final = 0.1


class Ran(msgspec.Struct, frozen=True):
    """A command that ended. `output`: both its streams."""

    words: tuple[str, ...]
    code: int
    output: str
    seconds: float


class Home:
    """A user's home, state and temporary files, in `folder`. `docker`: include containers."""

    def __init__(self, folder: Path, *, docker: bool) -> None:
        self.run = folder / "run"
        self._docker = docker
        self._folder = folder
        self._state = folder / "state"
        self._tmp = folder / "tmp"
        self._numbers: dict[int, str] = {}
        self._tmp.mkdir(parents=True)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "XDG_STATE_HOME": str(self._state),
            "TMPDIR": str(self._tmp),
        }

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """A command in a session of its own, as a terminal starts it."""
        return subprocess.Popen(
            [*COMMAND, *words], env=self.environment, cwd=self._folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def ran(self, *words: str) -> Ran:
        """A command to its end."""
        began_s = time.monotonic()
        process = self.begin(*words)
        output, _ = process.communicate(timeout=COMMAND_LIMIT_S)
        return Ran(words, process.returncode, output, round(time.monotonic() - began_s, 3))

    def entries(self) -> list[Registration]:
        """Of the user's registry."""
        found = []
        for path in self._state.rglob("*.json"):
            with contextlib.suppress(FileNotFoundError):
                found.append(msgspec.json.decode(path.read_bytes(), type=Registration))
        return found

    def forget(self) -> None:
        """The registry is lost; so is the run's copy."""
        for path in (*self._state.rglob("*.json"), self.run / "cluster.json"):
            path.unlink(missing_ok=True)

    def note_namespaces(self) -> None:
        """Record this trial's namespaces, while their maker lives."""
        owners = {entry.owner.text() for entry in self.entries() if entry.owner is not None}
        for path in OWNERS_DIR.glob("*") if OWNERS_DIR.is_dir() else ():
            with contextlib.suppress(FileNotFoundError):
                if (text := path.read_text()) in owners:
                    self._numbers[int(path.name)] = text

    def processes(self) -> list[psutil.Process]:
        """All that have this home, those in containers aside."""
        mark, found = str(self._state), []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get("XDG_STATE_HOME") == mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def left(self) -> list[str]:
        """Remains of the trial; waits for processes that are about to end."""
        left = [f"process {one.pid} {one.name()}" for one in self._lasting(self.processes)]
        left += [f"registry entry of {entry.name}" for entry in self.entries()]
        for place in (self._tmp, self.run):
            left += [f"scratch {path.name}" for path in place.glob(f"{PREFIX}*")]
        if (self.run / OWN_FOLDER).exists():
            left.append(f"{OWN_FOLDER} of the run")
        for number, owner in self._numbers.items():
            path = OWNERS_DIR / str(number)
            if path.exists() and path.read_text() != owner:
                continue  # another process has the number by now
            left += [f"namespace {path.name}" for path in NETNS_DIR.glob(f"faultline-{number}-*")]
        if self._docker and (there := objects_of(project_name(self.run))):
            left.append(str(there))
        return left

    @staticmethod
    def _lasting(look: Callable[[], list[psutil.Process]]) -> list[psutil.Process]:
        deadline = time.monotonic() + GONE_LIMIT_S
        while (found := look()) and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        return found


T = TypeVar("T")


def until(look: Callable[[], T | None], what: str, limit_s: float = 60.0) -> T:
    """Result of `look` when it has one. Raises AssertionError after the time limit."""
    deadline = time.monotonic() + limit_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"{what}: not within {limit_s:g} s"
        time.sleep(LOOK_S)
    return found
