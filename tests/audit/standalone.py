"""Spark's standalone cluster on this machine, from pyspark's jars: master and workers."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec
import psutil

from audit.java import Java
from audit.spark_home import class_path, scala_version, spark_home
from audit.spark_java import class_archive_options, ending_with_us
from tests.patience import PATIENCE_S

READY_TIMEOUT_S: Final = PATIENCE_S
END_TIMEOUT_S: Final = PATIENCE_S
MEMORY: Final = "1g"
"""A worker's room for executors: one of them, of Spark's ordinary size."""


class Cluster(msgspec.Struct, frozen=True):
    """`master`: its URL."""

    master: str
    workers: tuple[psutil.Process, ...]

    def executors(self) -> list[psutil.Process]:
        """Of all workers, those that live."""
        of_workers = [child for worker in self.workers if worker.is_running() for child in worker.children()]
        return [child for child in of_workers if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]


@contextmanager
def standalone(java: Java, folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and `workers` of one core each, on loopback.

    They and their executors have ended when the context is left.
    """
    with ExitStack() as stack:
        arguments = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        process, lines = stack.enter_context(_daemon(java, folder / "master", ("master.Master", *arguments)))
        master = _first_match(lines, r"Starting Spark master at (spark://\S+)")
        known = [psutil.Process(process.pid)]
        for number in range(workers):
            of_worker = ("--cores", "1", "--memory", MEMORY, "--work-dir", str(folder / f"work-{number}"), master)
            command = ("worker.Worker", *arguments, *of_worker)
            process, lines = stack.enter_context(_daemon(java, folder / f"worker-{number}", command))
            _first_match(lines, r"(Successfully registered) with master")
            known.append(psutil.Process(process.pid))
        cluster = Cluster(master, tuple(known[1:]))
        try:
            yield cluster
        finally:
            left = cluster.executors()
    _, alive = psutil.wait_procs(left, END_TIMEOUT_S)
    assert not alive, "an executor ends when its worker does"


@contextmanager
def _daemon(
    java: Java, folder: Path, arguments: Sequence[str]
) -> Iterator[tuple[subprocess.Popen[bytes], queue.Queue[str | None]]]:
    """One of Spark's processes and its output lines; its executors start as quickly as it does."""
    folder.mkdir(parents=True)
    name, *more = arguments
    command = [str(java.command), "-cp", class_path({}), "-Xmx256m", f"org.apache.spark.deploy.{name}", *more]
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", *class_archive_options(java)]
    environment = {
        **os.environ,
        "JAVA_HOME": str(java.command.resolve().parent.parent),
        "JDK_JAVA_OPTIONS": " ".join([*quick, f"-Djava.io.tmpdir={folder}"]),
        "SPARK_HOME": str(spark_home()),
        "SPARK_SCALA_VERSION": scala_version(),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
    }
    process = subprocess.Popen(
        [*ending_with_us(), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd=folder,
        process_group=0,
    )
    assert process.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue()
    reader = threading.Thread(target=_read, args=(process.stdout, lines))
    reader.start()
    try:
        yield process, lines
    finally:
        process.terminate()  # a worker ends its executors first
        try:
            process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(END_TIMEOUT_S)
        process.stdout.close()


def _read(output: IO[bytes], lines: queue.Queue[str | None]) -> None:
    for line in output:
        lines.put(line.decode("utf-8", "replace"))
    lines.put(None)


def _first_match(lines: queue.Queue[str | None], pattern: str) -> str:
    """The first match of `pattern` in a line to come."""
    received = []
    while (line := lines.get(timeout=READY_TIMEOUT_S)) is not None:
        if found := re.search(pattern, line):
            return found[1]
        received.append(line)
    raise AssertionError(f"it ended and never said {pattern!r}: {''.join(received)[-2000:]}")
