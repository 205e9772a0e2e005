"""`down`: ends a cluster by request or by signal, and removes the remains of a killed one."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

import msgspec
import psutil

from emulator.cluster.cluster_registry import Found, unregister
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import Down
from emulator.identity import Identity, identity_of, standing_of
from emulator.runs.engine_choice import UNUSABLE_MACHINES, remove_machines
from emulator.runs.scratch import remove_scratch
from emulator.worlds.containers.tool import DockerMissing

DYING_TIME_S: Final = 2.0
"""Time for a supervisor that did not answer.

One that ends may close its server before the answer has left.
"""
OWN_TIME_S: Final = 12.0
"""Time for the nodes to write their files, and for the supervisor to end with them."""
CONTAINERS_TIME_S: Final = 60.0
"""Additional time for containers and their networks to be removed."""
TERM_TIME_S: Final = 3.0
KILL_TIME_S: Final = 5.0
LOOK_S: Final = 0.02
FORK_SERVER: Final = "emulator.worlds.network.fork_server"


class Ended(msgspec.Struct, frozen=True):
    """Result of ending a cluster. `orphans`: its processes that had to be killed.

    `how`: by itself ("down"), by a signal ("terminated", "killed"), it was dead ("stale"), or another owner has it and
    it lives on ("detached": its containers are the compose tool's; "elsewhere"; "playing").
    """

    name: str
    directory: str
    how: str
    orphans: int
    seconds: float


def end(found: Found) -> Ended:
    """End a cluster; afterwards none of its processes lives.

    Raises what UNUSABLE_MACHINES lists if containers or namespaces cannot be removed; it stays registered then.
    """
    began = time.monotonic()
    owner = found.registration.owner
    if owner is None:
        unregister(found.directory)
        return Ended(found.name, str(found.directory), "detached", 0, 0.0)
    if found.standing == "elsewhere":
        return Ended(found.name, str(found.directory), "elsewhere", 0, 0.0)
    if found.registration.kind == "play" and found.running:
        return Ended(found.name, str(found.directory), "playing", 0, 0.0)
    how = _end_owner(found, owner) if found.running else "stale"
    orphans = kill_orphans(found, owner)
    if how != "down":
        remove_machines(found.directory, engine=found.registration.engine, driver=found.registration.driver)
    remove_scratch(found.directory)
    unregister(found.directory)
    return Ended(found.name, str(found.directory), how, orphans, round(time.monotonic() - began, 3))


def _end_owner(found: Found, owner: Identity) -> str:
    more_s = CONTAINERS_TIME_S if found.registration.engine == "docker" else 0.0
    answer = ask(found.registration, Down(), 1.0)
    if _gone(owner, (OWN_TIME_S if answer.code == 0 else DYING_TIME_S) + more_s):
        return "down"
    _signal(owner, signal.SIGTERM)
    if _gone(owner, TERM_TIME_S + more_s):
        return "terminated"
    _signal(owner, signal.SIGKILL)
    _gone(owner, KILL_TIME_S)
    return "killed"


def end_supervisor(process: "subprocess.Popen[bytes]", run_dir: Path, found: Found | None) -> None:
    """End a supervisor that was just started, and the processes that it had started."""
    more_s = CONTAINERS_TIME_S if found is not None and found.registration.engine == "docker" else 0.0
    try:
        process.wait(OWN_TIME_S + more_s)  # it saw its standard input close
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if found is not None and found.registration.owner is not None:
        kill_orphans(found, found.registration.owner)
        try:
            remove_machines(run_dir, engine=found.registration.engine, driver=found.registration.driver)
        except DockerMissing:
            pass  # nothing was made without it
        except UNUSABLE_MACHINES:
            return  # it stays registered: `down` tries once more
    unregister(run_dir)


def kill_orphans(found: Found, owner: Identity) -> int:
    """Kill the rest of a dead supervisor's session of nodes; return their number.

    The kernel does that by itself (PR_SET_PDEATHSIG); this makes sure.
    """
    left = _of_session(found, owner)
    deadline = time.monotonic() + 1.0
    while left and time.monotonic() < deadline:  # they may be dying
        time.sleep(LOOK_S)
        left = _of_session(found, owner)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, KILL_TIME_S)
    return len(left)


def _of_session(found: Found, owner: Identity) -> list[psutil.Process]:
    """Nodes and their fork server: in its session, of its kind, no older than the supervisor."""
    session = found.registration.session
    left: list[psutil.Process] = []
    for process in psutil.process_iter() if session else ():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getsid(process.pid) != session or FORK_SERVER not in process.cmdline():
                continue
            one = identity_of(process.pid)
            if one is not None and one.boot == owner.boot and one.ticks >= owner.ticks:
                left.append(process)
    return left


def _gone(owner: Identity, limit_s: float) -> bool:
    """Whether the owner ended within the time, even as a zombie of another parent."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if standing_of(owner) == "dead":
            return True
        time.sleep(LOOK_S)
    return False


def _signal(owner: Identity, number: int) -> None:
    """Signal the owner alone: a handle of the process is held while it is checked."""
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(owner.pid)
        try:
            if standing_of(owner) == "lives":
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)
