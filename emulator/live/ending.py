"""`down`: a cluster ends in its own time, or is ended; and what a killed one has left is cleaned up."""

import contextlib
import os
import signal
import subprocess
import time
from typing import Final

import msgspec
import psutil

from emulator.live.ask import ask
from emulator.live.registry import ATTACHED, Found, process_of, unregister
from emulator.live.requests import Down
from emulator.live.specification import read_specification
from emulator.runs.machines import remove_machines

DYING_TIME_S: Final = 2.0
"""For one that gave no answer: what ends may close its door before the answer has left."""
OWN_TIME_S: Final = 12.0
"""For nodes to write what they hold, and for the supervisor to end with them."""
CONTAINERS_TIME_S: Final = 60.0
"""More, for containers and their networks to be removed."""
TERM_TIME_S: Final = 3.0
KILL_TIME_S: Final = 5.0
LOOK_S: Final = 0.02
FORK_SERVER: Final = "emulator.world.network.fork_server"


class Ended(msgspec.Struct, frozen=True):
    """How a cluster ended. `how`: by itself ("down"), by a signal ("terminated", "killed"), it was dead ("stale"), or
    it is not ours to end, and lives on ("detached").
    `orphans`: processes of it that had to be killed."""

    name: str
    directory: str
    how: str
    orphans: int
    seconds: float


def end(found: Found) -> Ended:
    """Ends a cluster; afterwards none of its processes lives."""
    began = time.monotonic()
    registration = found.registration
    if registration.pid == ATTACHED:
        unregister(found.directory)
        return Ended(found.name, str(found.directory), "detached", 0, 0.0)
    process = process_of(registration)
    how = "stale"
    if process is not None:
        how = "down"
        more_s = CONTAINERS_TIME_S if registration.engine == "docker" else 0.0
        asked = ask(registration, Down(), 1.0)
        if not _gone(process, (OWN_TIME_S if asked.code == 0 else DYING_TIME_S) + more_s):
            how = "terminated"
            _signal(process, signal.SIGTERM)
            if not _gone(process, TERM_TIME_S + more_s):
                how = "killed"
                _signal(process, signal.SIGKILL)
                _gone(process, KILL_TIME_S)
    orphans = kill_orphans(found)
    if how in ("stale", "killed"):
        _remove_machines(found)
    unregister(found.directory)
    return Ended(found.name, str(found.directory), how, orphans, round(time.monotonic() - began, 3))


def end_supervisor(process: "subprocess.Popen[bytes]", found: Found | None) -> None:
    """Ends a supervisor that was just started, and what it had started."""
    try:
        process.wait(OWN_TIME_S)  # it saw its standard input close
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if found is not None:
        kill_orphans(found)
        unregister(found.directory)


def _remove_machines(found: Found) -> None:
    """Containers and network namespaces that a killed supervisor could not take along."""
    with contextlib.suppress(OSError, msgspec.DecodeError):  # without live.json nobody knows what there was
        spec = read_specification(found.directory)
        remove_machines(spec.run.topology, found.directory, **spec.living)


def kill_orphans(found: Found) -> int:
    """Kills what is left of a dead supervisor's session of nodes; returns how many there were. The kernel does that by
    itself (PR_SET_PDEATHSIG); here it is made sure."""
    left = _of_session(found)
    deadline = time.monotonic() + 1.0
    while left and time.monotonic() < deadline:  # they may be dying
        time.sleep(LOOK_S)
        left = _of_session(found)
    for process in left:
        _signal(process, signal.SIGKILL)
    psutil.wait_procs(left, KILL_TIME_S)
    return len(left)


def _of_session(found: Found) -> list[psutil.Process]:
    """Nodes and their fork server: in its session, of its kind, and no older than the supervisor."""
    registration = found.registration
    left: list[psutil.Process] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getsid(process.pid) != registration.session or process.create_time() < registration.created - 1.0:
                continue
            if FORK_SERVER in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                left.append(process)
    return left


def _gone(process: psutil.Process, limit_s: float) -> bool:
    """Whether it ended within the time; as a child of somebody who does not wait for it, too."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        try:
            if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(LOOK_S)
    return False


def _signal(process: psutil.Process, number: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(number)
