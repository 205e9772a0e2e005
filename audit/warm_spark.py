"""Local Spark server that all commands of a user share.

Spark's start, and the first queries of a new Java, take most of a short audit's time. The first command that needs
Spark starts a server (`audit.spark_keeper`), and the next find it. It ends by itself when no command has used it for
IDLE_S seconds.

Its folder is private: one below the register of clusters for each installation of Spark, Java and faultline. Its port
is open on the loopback interface alone. It takes only clients with the token in the server's file, which has mode 0600.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import msgspec

from audit.gateway import tail_of
from audit.java import NoJavaError, find_java
from audit.spark_home import archive_path
from audit.spark_keeper import KEEPER_FILE, LOG_FILE, SERVER_FILE, USERS_FILE, Server
from audit.spark_session import GatewayError, SparkFailed, first_line
from emulator.cluster.state_home import NoStateHome, state_home
from emulator.identity import standing_of
from emulator.regular_files import NotRegular, read_regular
from protocol.undecodable import UNDECODABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IDLE_S: Final = 600.0
CI_IDLE_S: Final = 2.0
"""On a CI's machine, which is to be left as it was."""
AT_ONCE_MAX: Final = 4
"""Maximum of commands that use a server at a time; the others wait. Its memory is bounded."""
FOLDERS: Final = "spark"
START_FILE: Final = "start"
KEEPER_LOG: Final = "keeper.log"
POLL_S: Final = 0.02
STOP_TIMEOUT_S: Final = 20.0

CHOICE: Final = "FAULTLINE_SPARK"
"""Environment variable: `warm` or `cold` (each command has a Spark of its own)."""


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether commands share a server.

    Raises GatewayError: the variable CHOICE has an unknown value.
    """
    choice = environ.get(CHOICE, "")
    if choice not in ("", "warm", "cold"):
        raise GatewayError(f"{CHOICE}={choice}: no such choice; expected warm or cold")
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
    except (GatewayError, NoJavaError, OSError):  # without a folder or a Java there is none
        return False


@contextmanager
def used(folder: Path, idle_s: float | None = None, *, lasting: bool = False) -> Iterator[Server]:
    """The server of the folder, started if none runs. It lives while the context lasts.

    `lasting`: for a prompt, which mostly waits for its user, and is not counted among AT_ONCE_MAX.

    Raises GatewayError: it does not start."""
    with ExitStack() as stack:
        if not lasting:
            _take_turn(folder, stack)
        users = stack.enter_context((folder / USERS_FILE).open("ab"))
        fcntl.flock(users, fcntl.LOCK_SH)
        os.utime(users.fileno())
        try:
            yield _found(folder, idle_s)
        finally:
            os.utime(users.fileno())


def _take_turn(folder: Path, stack: ExitStack) -> None:
    """Wait until fewer than AT_ONCE_MAX commands use the server."""
    turns = [stack.enter_context((folder / f"turn-{number}").open("ab")) for number in range(AT_ONCE_MAX)]
    if not any(_locked(turn, fcntl.LOCK_EX | fcntl.LOCK_NB) for turn in turns):
        _locked(turns[os.getpid() % AT_ONCE_MAX], fcntl.LOCK_EX)


def _locked(file: BinaryIO, how: int) -> bool:
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    return True


def _found(folder: Path, idle_s: float | None) -> Server:
    """The running server, or a new one. One command at a time looks."""
    if idle_s is None:
        idle_s = CI_IDLE_S if os.environ.get("CI") else IDLE_S
    with (folder / START_FILE).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = server_of(folder)
        return server if server is not None else _started(folder, idle_s)


def _started(folder: Path, idle_s: float) -> Server:
    _end_leftover(folder)
    with (folder / KEEPER_LOG).open("wb") as log:
        code = subprocess.run(
            [sys.executable, "-m", "audit.spark_keeper", str(folder), str(idle_s)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, cwd=Path(__file__).parent.parent,
            start_new_session=True, check=False,
        ).returncode  # fmt: skip
    with (folder / KEEPER_FILE).open("ab") as keeper:
        # The keeper gives up when Java takes too long.
        while code == 0 and not _locked(keeper, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if (server := server_of(folder)) is not None:
                return server
            time.sleep(POLL_S)
    tail = tail_of([folder / KEEPER_LOG, folder / LOG_FILE])
    raise GatewayError(f"Spark's server did not start (code {code}).{tail}")


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
    except (GatewayError, NoJavaError, OSError):
        return
    users = stack.enter_context((folder / USERS_FILE).open("ab"))
    fcntl.flock(users, fcntl.LOCK_SH)
    stack.callback(_end_unused, folder)


def _end_unused(folder: Path) -> None:
    """Have the keeper end its server as soon as no command uses it."""
    if (server := server_of(folder)) is not None:
        with suppress(ProcessLookupError):
            os.kill(server.keeper.pid, signal.SIGHUP)


def stop(folder: Path) -> bool:
    """End the server of the folder, also one in use; returns whether one ran."""
    server = server_of(folder)
    if server is None:
        return False
    try:
        os.kill(server.keeper.pid, signal.SIGTERM)
    except ProcessLookupError:
        return False
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while standing_of(server.keeper) == "lives":
        if time.monotonic() > deadline:
            raise GatewayError(f"Spark's server (process {server.keeper.pid}) does not end; kill it")
        time.sleep(POLL_S)
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
        GatewayError: the server does not start.
        SparkFailed: it failed while the session was used.
    """
    try:
        folder = own_folder()
    except (NoStateHome, OSError) as error:
        raise GatewayError(f"no folder for Spark's server: {error}; --cold starts a Spark for this command") from error
    with (
        used(folder, lasting=lasting) as server,
        remote_session(f"sc://localhost:{server.port}/;token={server.token}", settings) as session,
    ):
        yield session


@contextmanager
def remote_session(url: str, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session of a Spark Connect server. `url`: sc://HOST:PORT and its options.

    An interrupt ends its queries, too. Raises SparkFailed: the server does not answer, or failed.
    """
    from grpc import RpcError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    mode = os.environ.get("SPARK_CONNECT_MODE_ENABLED")
    session: SparkSession | None = None
    try:
        session = SparkSession.builder.remote(url).config(map={**(settings or {})}).create()
        yield session
    except KeyboardInterrupt:
        if session is not None:
            session.interruptAll()
        raise
    except (PySparkException, RpcError, ConnectionError) as error:
        raise SparkFailed(_failure_text(error)) from error
    finally:
        if session is not None:
            session.stop()
        if mode is None:  # a session of Spark's other kind is possible again in this process
            os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)


def _failure_text(error: Exception) -> str:
    """An error of the server in one line: what the connection reports, or Spark's own."""
    status = re.search(r'status = StatusCode\.(\w+)\s+details = "(.*)"', str(error))
    if status is None:
        return f"Spark failed: {first_line(error)}"
    return f"Spark's server failed: {status[1]}: {status[2]}"
