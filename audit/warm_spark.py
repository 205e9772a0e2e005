"""Spark servers: one that all commands of a user share, or one of a command's own.

Spark's start, and the first queries of a new Java, take most of a short audit's time. The first command that needs
Spark starts a server (`audit.spark_keeper`), and the next find it. It ends by itself when no command has used it for
IDLE_S seconds.

Its folder is private: one below the register of clusters for each installation of Spark, Java and faultline. Its port
is open on the loopback interface alone. It takes only clients with the token in the server's file, which has mode 0600.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import psutil

from audit.java import NoJavaError, find_java, is_local
from audit.spark_home import archive_path
from audit.spark_java import SparkNotStarted, in_background, require_master, tail_of
from audit.spark_keeper import KEEPER_FILE, KEEPER_LOG, LOG_FILE, SERVER_FILE, USERS_FILE, Launch, Server, locked
from audit.spark_session import spark_faults
from emulator.cluster.state_home import NoStateHome, state_home
from emulator.identity import Identity, standing_of
from emulator.regular_files import NotRegular, read_regular
from protocol.undecodable import UNDECODABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN: Final = Launch(idle_s=0.0, at_once=True)
"""Launch of a server for one command on this machine's cores."""
IDLE_S: Final = 600.0
CI_IDLE_S: Final = 2.0
"""On a CI's machine, which is to be left as it was."""
AT_ONCE_MAX: Final = 4
"""Maximum of commands that use a server at a time; the others wait. Its memory is bounded."""
FOLDERS: Final = "spark"
START_FILE: Final = "start"
POLL_S: Final = 0.02
STOP_TIMEOUT_S: Final = 20.0
LOCAL_RETRIES: Final = 3
"""Tries of a call that this machine's server refuses, one second in all: it has ended."""

CHOICE: Final = "FAULTLINE_SPARK"
"""Environment variable: `warm` or `cold` (each command has a Spark of its own)."""


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether commands share a server.

    Raises SparkNotStarted: the variable CHOICE has an unknown value.
    """
    choice = environ.get(CHOICE, "")
    if choice not in ("", "warm", "cold"):
        raise SparkNotStarted(f"{CHOICE}={choice}: no such choice; expected warm or cold")
    return choice != "cold"


def folders() -> list[Path]:
    """Folders of all servers of this user, running or not."""
    return sorted(path for path in (state_home() / FOLDERS).glob("*") if path.is_dir())


def own_folder() -> Path:
    """The folder of this installation's server, made if missing.

    Raises NoStateHome, NoJavaError, OSError.
    """
    java = find_java(os.environ)
    installed = (archive_path(java).name, sys.executable, str(Path(__file__)))
    folder = state_home() / FOLDERS / sha256("\n".join(installed).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    for place in (folder.parent, folder):
        place.chmod(0o700)
    return folder


def server_of(folder: Path) -> Server | None:
    """The server that runs there; None: none does."""
    try:
        server = msgspec.json.decode(read_regular(folder / SERVER_FILE), type=Server)
    except (FileNotFoundError, NotRegular, *UNDECODABLE):
        return None
    return server if standing_of(server.keeper) == "lives" else None


def is_running() -> bool:
    """Whether a server of this installation runs, and commands share it."""
    try:
        return is_wanted(os.environ) and server_of(own_folder()) is not None
    except (SparkNotStarted, NoJavaError, OSError):  # without a folder or a Java there is none
        return False


@contextmanager
def used(
    folder: Path, launch: Launch | None = None, *, lasting: bool = False, background: bool = False
) -> Iterator[Server]:
    """The server of the folder, started if none runs. It lives while the context lasts.

    `lasting`: for a prompt, which mostly waits for its user, and is not counted among AT_ONCE_MAX. `background`: a
    started one runs only when the processor is idle, until `to_foreground`.

    Raises SparkNotStarted: it does not start."""
    with ExitStack() as stack:
        if not lasting:
            _take_turn(folder, stack)
        users = stack.enter_context((folder / USERS_FILE).open("ab"))
        fcntl.flock(users, fcntl.LOCK_SH)
        os.utime(users.fileno())
        try:
            yield _found(folder, launch or _shared_launch(), background)
        finally:
            os.utime(users.fileno())


def _shared_launch() -> Launch:
    return Launch(idle_s=CI_IDLE_S if os.environ.get("CI") else IDLE_S)


def _take_turn(folder: Path, stack: ExitStack) -> None:
    """Wait until fewer than AT_ONCE_MAX commands use the server."""
    turns = [stack.enter_context((folder / f"turn-{number}").open("ab")) for number in range(AT_ONCE_MAX)]
    if not any(locked(turn, fcntl.LOCK_EX | fcntl.LOCK_NB) for turn in turns):
        locked(turns[os.getpid() % AT_ONCE_MAX], fcntl.LOCK_EX)


def _found(folder: Path, launch: Launch, background: bool) -> Server:
    """The running server, or a new one. One command at a time looks."""
    with (folder / START_FILE).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = server_of(folder)
        return server if server is not None else _started(folder, launch, background)


def _started(folder: Path, launch: Launch, background: bool) -> Server:
    _end_leftover(folder)
    with (folder / KEEPER_LOG).open("wb") as log:
        words = (sys.executable, "-m", "audit.spark_keeper", str(folder), msgspec.json.encode(launch).decode())
        code = subprocess.run(
            [*(in_background() if background else ()), *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, cwd=Path(__file__).parent.parent,
            start_new_session=True, check=False,
        ).returncode  # fmt: skip
    with (folder / KEEPER_FILE).open("ab") as keeper:
        # The keeper gives up when Java takes too long.
        while code == 0 and not locked(keeper, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if (server := server_of(folder)) is not None:
                return server
            time.sleep(POLL_S)
    tail = tail_of([folder / KEEPER_LOG, folder / LOG_FILE])
    raise SparkNotStarted(f"Spark's server did not start (code {code}).{tail}")


def _end_leftover(folder: Path) -> None:
    """Wait for the end of a former keeper, whose file is gone already."""
    with (folder / KEEPER_FILE).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    (folder / SERVER_FILE).unlink(missing_ok=True)


def hold(stack: ExitStack) -> None:
    """Keep this installation's server to the end of the stack, and end it then if unused.

    Where none can be, nothing is kept; an audit has the reason."""
    try:
        if not is_wanted(os.environ):
            return
        folder = own_folder()
    except (SparkNotStarted, NoJavaError, OSError):
        return
    users = stack.enter_context((folder / USERS_FILE).open("ab"))
    fcntl.flock(users, fcntl.LOCK_SH)
    stack.callback(_end_unused, folder)


def _end_unused(folder: Path) -> None:
    """Have the keeper end its server as soon as no command uses it."""
    if (server := server_of(folder)) is not None:
        with suppress(ProcessLookupError):
            os.kill(server.keeper.pid, signal.SIGHUP)


def stop(folder: Path, timeout_s: float = STOP_TIMEOUT_S) -> bool:
    """End the server of the folder, also one in use or one that starts; returns whether one ran."""
    keeper = _keeper_of(folder)
    if keeper is None:
        return False
    with suppress(ProcessLookupError):
        os.kill(keeper.pid, signal.SIGTERM)
    deadline = time.monotonic() + timeout_s
    while standing_of(keeper) == "lives":
        if time.monotonic() > deadline:
            raise SparkNotStarted(f"Spark's server (process {keeper.pid}) does not end; kill it")
        time.sleep(POLL_S)
    return True


def _keeper_of(folder: Path) -> Identity | None:
    """The folder's keeper, as soon as it has written its name; None: none holds the folder."""
    path = folder / KEEPER_FILE
    while path.exists():
        with path.open("ab") as lock:
            if locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
                return None
        with suppress(NotRegular, *UNDECODABLE):
            return msgspec.json.decode(read_regular(path), type=Identity)
        time.sleep(POLL_S)
    return None


def to_foreground(folder: Path) -> bool:
    """Make a background server an ordinary one; False without the right to do so."""
    keeper = _keeper_of(folder)
    if keeper is None:
        return False
    try:
        process = psutil.Process(keeper.pid)
        for one in (process, *process.children(recursive=True)):
            for thread in one.threads():
                os.sched_setscheduler(thread.id, os.SCHED_OTHER, os.sched_param(0))
    except (PermissionError, ProcessLookupError, psutil.Error):
        return False  # unprivileged, a thread that ended meanwhile, or a server that is gone
    return True


def running() -> list[tuple[Path, Server]]:
    """Servers of this user, with their folders, other installations' included.

    Raises NoStateHome.
    """
    return [(folder, server) for folder in folders() if (server := server_of(folder)) is not None]


@contextmanager
def warm_session(settings: Mapping[str, str] | None = None, *, lasting: bool = False) -> Iterator[SparkSession]:
    """A session in the shared server.

    `settings`: of Spark SQL, which take precedence. `lasting`: as `used` takes it.

    Raises:
        SparkNotStarted: the server does not start.
        SparkFailed: it failed while the session was used.
    """
    try:
        folder = own_folder()
    except (NoStateHome, OSError) as error:
        raise SparkNotStarted(
            f"no folder for Spark's server: {error}; --cold starts a Spark for this command"
        ) from error
    with (
        used(folder, lasting=lasting) as server,
        remote_session(server.url, settings, retries=LOCAL_RETRIES) as session,
    ):
        yield session


@contextmanager
def own_session(
    folder: Path, launch: Launch = OWN, settings: Mapping[str, str] | None = None, *, background: bool = False
) -> Iterator[SparkSession]:
    """A session in a server of this command alone, which ends with the context.

    `folder`: its private directory, made if missing. `settings`: as `remote_session` takes them. `background`: as
    `used` takes it.

    Raises:
        NoJavaError: there is no Java for it.
        SparkNotStarted: the master is invalid, or the server does not start.
        SparkFailed: it failed while the session was used.
    """
    require_master(launch.master, find_java(os.environ, alone=is_local(launch.master)))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    try:
        with (
            used(folder, launch, background=background) as server,
            remote_session(server.url, settings, retries=LOCAL_RETRIES) as session,
        ):
            yield session
    finally:
        stop(folder, STOP_TIMEOUT_S + launch.end_timeout_s)


@contextmanager
def remote_session(
    url: str, settings: Mapping[str, str] | None = None, *, retries: int | None = None
) -> Iterator[SparkSession]:
    """A session of a Spark Connect server. `url`: sc://HOST:PORT and its options.

    `retries`: tries of a call after a connection was refused; None: Spark's own, which take ten minutes. An interrupt
    ends its queries, too. Raises SparkFailed: the server does not answer, or failed.
    """
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client.retries import DefaultPolicy

    mode = os.environ.get("SPARK_CONNECT_MODE_ENABLED")
    session: SparkSession | None = None
    try:
        with spark_faults():
            session = SparkSession.builder.remote(url).config(map={**(settings or {})}).create()
            if retries is not None:
                session.client.set_retry_policies([DefaultPolicy(max_retries=retries)])
            yield session
    except KeyboardInterrupt:
        if session is not None:
            session.interruptAll()
        raise
    finally:
        if session is not None:
            session.stop()
        if mode is None:  # a session of Spark's other kind is possible again in this process
            os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
