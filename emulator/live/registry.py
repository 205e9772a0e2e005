"""Which clusters there are: RUN_DIR/cluster.json, readable by its owner alone, for it holds the door's token.

It is there from before the first node starts until after the last has ended. One whose process is gone is *stale*: its
supervisor was killed.
"""

import os
import socket
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import msgspec
import psutil

from emulator.runs.finished import RUNS
from protocol.undecodable import UNDECODABLE

CLUSTER_FILE: Final = "cluster.json"
LOG_FILE: Final = "supervisor.log"
KEEP: Final = b"keep"
"""What `up` says to the supervisor when the cluster shall outlive it."""


ATTACHED: Final = 0
"""As a process id: the supervisor is in a container, and runs while its door opens."""
KNOCK_LIMIT_S: Final = 1.0


class NoCluster(Exception):
    """No such cluster, or several: one line that says what there is."""


class Registration(msgspec.Struct, frozen=True):
    """What cluster.json holds.

    `pid`, `created`: of the supervisor, and when that process began (seconds since 1970), so that another process of
    that number is never taken for it. `session`: the fork server's, which all nodes are in.
    """

    name: str
    pid: int
    created: float
    session: int
    host: str
    port: int
    token: str
    engine: str = "process"
    format: int = 1


class Found(msgspec.Struct, frozen=True):
    """A cluster.json that was found. `running`: its supervisor is alive."""

    directory: Path
    registration: Registration
    running: bool

    @property
    def name(self) -> str:
        return self.registration.name


def register(run_dir: Path, registration: Registration) -> None:
    """Whole or not at all, mode 0600."""
    partial = run_dir / f".{CLUSTER_FILE}.{os.getpid()}"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(registration), indent=2) + b"\n")
    partial.replace(run_dir / CLUSTER_FILE)


def unregister(run_dir: Path) -> None:
    """It is over."""
    (run_dir / CLUSTER_FILE).unlink(missing_ok=True)


def registered(run_dir: Path) -> Found | None:
    """None: there is no cluster.json, or none that could be understood."""
    try:
        registration = msgspec.json.decode((run_dir / CLUSTER_FILE).read_bytes(), type=Registration)
    except (OSError, *UNDECODABLE):
        return None
    running = _opens(registration) if registration.pid == ATTACHED else process_of(registration) is not None
    return Found(run_dir, registration, running)


def _opens(registration: Registration) -> bool:
    try:
        socket.create_connection((registration.host, registration.port), timeout=KNOCK_LIMIT_S).close()
    except OSError:
        return False
    return True


def process_of(registration: Registration) -> psutil.Process | None:
    """The supervisor's process, if it lives here."""
    if registration.pid == ATTACHED:
        return None
    try:
        process = psutil.Process(registration.pid)
        if abs(process.create_time() - registration.created) > 1.0 or process.status() == psutil.STATUS_ZOMBIE:
            return None
    except psutil.Error:
        return None
    return process


def clusters(runs: Path = RUNS) -> list[Found]:
    """All below `runs`, by name."""
    found = [registered(path.parent) for path in runs.glob(f"*/{CLUSTER_FILE}")]
    return sorted((one for one in found if one is not None), key=lambda one: (one.name, str(one.directory)))


def named(name: str, runs: Path = RUNS) -> list[Found]:
    """Clusters of that name, or in that directory (given by its name or path); running or stale."""
    at_path = registered(Path(name))
    if at_path is not None:
        return [at_path]
    return [one for one in clusters(runs) if name in (one.name, one.directory.name)]


def choose(name: str | None, runs: Path = RUNS) -> Found:
    """The running cluster that is meant; without a name, the only one. Raises NoCluster."""
    if name is not None:
        matching = [one for one in named(name, runs) if one.running]
        if len(matching) == 1:
            return matching[0]
        if matching:
            where = ", ".join(str(one.directory) for one in matching)
            raise NoCluster(f"several clusters are called {name}: say which directory: {where}")
        names = [one.name for one in clusters(runs) if one.running]
        close = get_close_matches(name, names, n=1)
        there = f"; nearest: {close[0]}" if close else f"; there is {', '.join(names)}" if names else "; none runs"
        raise NoCluster(f"no cluster {name!r} runs{there}")
    running = [one for one in clusters(runs) if one.running]
    if not running:
        raise NoCluster("no cluster runs: start one with faultline up")
    if len(running) > 1:
        names = [one.name for one in running]
        raise NoCluster(f"several clusters run: {', '.join(names)}; say which with --cluster NAME")
    return running[0]


def run_of(name: str | None, runs: Path = RUNS) -> Path | None:
    """The directory of the cluster of that name, running or not; without one, of that which runs, None if none does.
    Raises NoCluster."""
    if name is not None:
        known = named(name, runs)
        return known[0].directory if len(known) == 1 else choose(name, runs).directory
    return choose(None, runs).directory if any(one.running for one in clusters(runs)) else None
