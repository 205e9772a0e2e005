"""Register of running clusters, and of each running `faultline run`.

Entries belong to a user (`state_home`), so a cluster is found from any directory. RUN_DIR/cluster.json repeats a
cluster's entry, for commands that know its directory. Both hold the control server's token and are readable by their
owner alone. They exist from before the first machine is made until after the last is gone. An entry whose process is
gone is *stale*: the process was killed or crashed, and `down` removes its remains.
"""

import contextlib
import hashlib
import os
import socket
import stat
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Literal

import msgspec

from emulator.cluster.state_home import NoStateHome, state_home
from emulator.identity import Identity, Standing, standing_of
from emulator.regular_files import write_whole
from emulator.run_layout import shown
from emulator.runs.deployment_options import Driver, Engine
from emulator.runs.finished import RUNS
from protocol.undecodable import UNDECODABLE

CLUSTER_FILE: Final = "cluster.json"
LOG_FILE: Final = "supervisor.log"
PROGRAM_PREFIX: Final = "python-"
"""Prefix of clusters that programs and tests start; a command takes them only by name."""
KEEP: Final = b"keep"
"""Line from `up` to the supervisor when the cluster is to outlive it."""
CONNECT_LIMIT_S: Final = 1.0
ENTRY_BYTES_MAX: Final = 64 * 1024


class NoCluster(Exception):
    """No such cluster, or several: one line with the existing ones."""


class Registration(msgspec.Struct, frozen=True):
    """Content of an entry.

    `owner`: the process whose end makes the entry stale. None: in a container; it runs while its port answers.
    `session`: the fork server's, which all nodes are in (0: not yet, or there is none). `port` 0: the control server
    does not listen yet, or there is none. `run`: the directory. `kind` "play": of `faultline run`, which takes no
    commands.
    """

    name: str
    owner: Identity | None
    session: int
    host: str
    port: int
    token: str
    run: str = ""
    engine: Engine = "process"
    driver: Driver = "nodes"
    kind: Literal["cluster", "play"] = "cluster"
    format: int = 2

    @property
    def pid(self) -> int:
        """The owner's; 0: it is in a container."""
        return self.owner.pid if self.owner is not None else 0

    @property
    def http(self) -> str:
        """Base URL over HTTP; "": not yet, or none."""
        return f"http://{self.host}:{self.port}" if self.port else ""


class Found(msgspec.Struct, frozen=True):
    """An entry that was found. `standing`: its owner's."""

    directory: Path
    registration: Registration
    standing: Standing

    @property
    def name(self) -> str:
        return self.registration.name

    @property
    def running(self) -> bool:
        return self.standing == "lives"

    @property
    def stale(self) -> bool:
        """Whether its owner is dead, and cannot clean up any more."""
        return self.standing == "dead"


def register(run_dir: Path, registration: Registration) -> None:
    """Write the entry whole or not at all, mode 0600. Raises OSError."""
    run_dir = run_dir.resolve()
    registration = msgspec.structs.replace(registration, run=str(run_dir))
    _write(_entry_of(run_dir), registration)
    if registration.kind == "cluster":
        _write(run_dir / CLUSTER_FILE, registration)


def unregister(run_dir: Path) -> None:
    """Remove the entry of a cluster that has ended without remains."""
    (run_dir / CLUSTER_FILE).unlink(missing_ok=True)
    _entry_of(run_dir.resolve()).unlink(missing_ok=True)


def registered(run_dir: Path) -> Found | None:
    """The cluster in this directory. None: no cluster.json, or an unreadable one."""
    return _read(run_dir / CLUSTER_FILE, run_dir)


def clusters(runs: Path = RUNS) -> list[Found]:
    """The user's clusters, and those below `runs`, by name."""
    return [one for one in _entries(runs) if one.registration.kind == "cluster"]


def plays() -> list[Found]:
    """The user's `faultline run`, running or killed."""
    return [one for one in _entries(RUNS) if one.registration.kind == "play"]


def named(name: str, runs: Path = RUNS) -> list[Found]:
    """Clusters of that name, or in that directory (by its name or path); running or stale."""
    at_path = registered(Path(name))
    if at_path is not None:
        return [at_path]
    return [one for one in clusters(runs) if name in (one.name, one.directory.name) or one.directory == Path(name)]


def choose(name: str | None, runs: Path = RUNS) -> Found:
    """The running cluster of that name; without a name, the only one.

    A cluster that a program has started counts if no other runs. Raises NoCluster.
    """
    known = clusters(runs)
    running = [one for one in known if one.running]
    if name is not None:
        return _chosen(name, named(name, runs), [one.name for one in running])
    if not running:
        raise NoCluster(f"no cluster runs: start one with faultline up{_left(known)}")
    running = [one for one in running if not one.name.startswith(PROGRAM_PREFIX)] or running
    if len(running) > 1:
        names = [one.name for one in running]
        raise NoCluster(f"several clusters run: {', '.join(names)}; choose one with --cluster NAME")
    return running[0]


def _chosen(name: str, matching: list[Found], names: list[str]) -> Found:
    running = [one for one in matching if one.running]
    if len(running) == 1:
        return running[0]
    if running:
        where = ", ".join(shown(one.directory) for one in running)
        raise NoCluster(f"several clusters are called {name}; choose one by its directory: {where}")
    close = get_close_matches(name, names, n=1)
    there = f"; nearest: {close[0]}" if close else f"; there is {', '.join(names)}" if names else "; none runs"
    raise NoCluster(f"no cluster {name!r} runs{_left(matching) or there}")


def _left(known: list[Found]) -> str:
    """The text about stale ones among them."""
    stale = [f"{one.name} (its process {one.registration.pid} is gone)" for one in known if one.stale]
    return f"; what is left of {', '.join(stale)} is removed by faultline down" if stale else ""


def run_of(name: str | None, runs: Path = RUNS) -> Path | None:
    """Directory of the cluster of that name, running or not. Raises NoCluster.

    Without a name: of the running one, None if none runs.
    """
    if name is not None:
        known = named(name, runs)
        return known[0].directory if len(known) == 1 else choose(name, runs).directory
    return choose(None, runs).directory if any(one.running for one in clusters(runs)) else None


def _entries(runs: Path) -> list[Found]:
    """Entries by name; each directory once."""
    by_place: dict[Path, Found] = {}
    found = [_read(path, path.parent) for path in runs.glob(f"*/{CLUSTER_FILE}")]
    with contextlib.suppress(NoStateHome):  # the command that starts a cluster reports it
        found += [_read(path, None) for path in state_home().glob("*.json")]
    for one in found:
        if one is not None:
            by_place.setdefault(one.directory.resolve(), one)
    return sorted(by_place.values(), key=lambda one: (one.name, str(one.directory)))


def _entry_of(run_dir: Path) -> Path:
    return state_home() / f"{hashlib.sha256(str(run_dir).encode()).hexdigest()[:16]}.json"


def _write(path: Path, registration: Registration) -> None:
    text = msgspec.json.format(msgspec.json.encode(registration), indent=2) + b"\n"
    write_whole(path, text, mode=0o600)


def _read(path: Path, directory: Path | None) -> Found | None:
    """Read an entry. `directory` None: the entry's own.

    Another user's file is ignored: `down` signals the processes that an entry names.
    """
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
                return None
            registration = msgspec.json.decode(file.read(ENTRY_BYTES_MAX), type=Registration)
    except (OSError, *UNDECODABLE):
        return None
    return Found(directory or Path(registration.run), registration, _standing(registration))


def _standing(registration: Registration) -> Standing:
    if registration.owner is not None:
        return standing_of(registration.owner)
    try:
        socket.create_connection((registration.host, registration.port), timeout=CONNECT_LIMIT_S).close()
    except OSError:
        return "dead"
    return "lives"
