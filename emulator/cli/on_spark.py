"""`--master`: runs are played by a Spark cluster instead of this machine's cores.

Tasks go out in lots, and results come back after each wave of lots. Spark reassigns the lots of a lost executor. Our
code travels as an archive, which every executor unpacks. Its dependencies (msgspec, structlog and so on) must be
installed for the Python there (PYSPARK_PYTHON; by default the driver's Python).
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from emulator import packaged
from emulator.runs.cores import Players, Worker
from emulator.runs.remote_worker import pickled_job

if TYPE_CHECKING:
    from pyspark import SparkContext

LOT_MAX: Final = 50
"""Maximum tasks of a lot: a second or two of one core."""
WAVE_LOTS_MAX: Final = 8
"""Maximum lots of a wave, per core; first waves are smaller, so that results come early."""
ARCHIVE: Final = "faultline"
OUR_PACKAGES: Final = ("protocol", "controller", "emulator")
DATA: Final = {"scenarios": packaged.SCENARIOS, "golden": packaged.GOLDEN, "compose": packaged.COMPOSE}
"""Data folders, with their names in a wheel's emulator/data."""


class NotOnSpark(Exception):
    """Spark did not start, or failed: one line."""


class SparkMissing(Exception):
    """There is nothing to start Spark with; the message has what to do."""


def require_spark(master: str | None) -> None:
    """Look for Java before anything is played or written.

    `master`: Spark's, or None, which needs no Spark. Raises SparkMissing."""
    if master is None:
        return
    from audit.java import NoJavaError, require_java

    try:
        require_java(master)
    except NoJavaError as error:
        raise SparkMissing(str(error)) from error


@contextmanager
def players_of(master: str | None) -> Iterator[Players | None]:
    """Executors of runs; None without a master: this machine's cores. Raises NotOnSpark."""
    if master is None:
        yield None
        return
    from audit.commands import spark_of
    from audit.java import is_local
    from audit.spark_session import GatewayError, NoJavaError

    settings = {"spark.python.worker.reuse": "true", "spark.task.maxFailures": "8"}
    try:
        with spark_of(master, 0, settings) as (spark, place):
            context = spark.sparkContext
            if not is_local(master):
                context.addArchive(f"{archive_in(place)}#{ARCHIVE}")
            yield partial(on_context, context)
    except (GatewayError, NoJavaError) as error:
        raise NotOnSpark(str(error)) from error


@contextmanager
def on_context(
    context: SparkContext, make: Callable[[Any], Worker[Any, Any]], spec: object, /, *, most: int
) -> Iterator[Callable[[Sequence[Any]], Iterator[Any]]]:
    """Executors of a Spark context, called as `all_cores` is. Raises NotOnSpark."""
    from pyspark.errors import PythonException

    task_setup = context.broadcast(pickled_job(make, spec))
    play_lot = _of_lot()
    cores = max(1, context.defaultParallelism)

    def play(tasks: Sequence[Any]) -> Iterator[Any]:
        for lots in waves(tasks, cores):
            played = context.parallelize(lots, len(lots)).flatMap(lambda lot: play_lot(task_setup.value, lot))
            try:
                ended = played.collect()
            except PythonException as error:
                raise NotOnSpark(f"the executors' Python (PYSPARK_PYTHON): {_last_words(str(error))}") from None
            yield from ended

    try:
        yield play
    finally:
        task_setup.destroy()


def _last_words(traceback: str) -> str:
    """Final error of a traceback, such as `ModuleNotFoundError: No module named 'msgspec'`."""
    raised = [line.strip() for line in traceback.splitlines() if re.match(r"[A-Za-z_.]+: ", line)]
    return raised[-1] if raised else traceback.strip().splitlines()[-1]


def waves(tasks: Sequence[Any], cores: int) -> Iterator[list[Sequence[Any]]]:
    """All tasks, in lots of whole waves: one lot for each core, then two, up to WAVE_LOTS_MAX."""
    begun, lots_of_core = 0, 1
    while begun < len(tasks):
        left = len(tasks) - begun
        size = max(1, min(LOT_MAX, left // (cores * lots_of_core)))
        lots = [tasks[at : at + size] for at in range(begun, len(tasks), size)][: cores * lots_of_core]
        begun += sum(map(len, lots))
        lots_of_core = min(WAVE_LOTS_MAX, 2 * lots_of_core)
        yield lots


def _of_lot() -> Callable[[bytes, Sequence[Any]], list[Any]]:
    """Function that plays a lot in an executor's Python.

    It travels by value: executors do not have our packages before it has run.
    """
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    return _play_lot


def _play_lot(task_setup: bytes, lot: Sequence[Any]) -> list[Any]:
    import os
    import sys

    from pyspark import SparkFiles

    try:
        unpacked = SparkFiles.get("faultline")
    except Exception:  # no archive was sent: this is the driver's Python
        unpacked = ""
    if unpacked and os.path.isdir(unpacked) and unpacked not in sys.path:
        sys.path.insert(0, unpacked)
    from emulator.runs.remote_worker import played

    return played(task_setup, lot)


def archive_in(place: Path) -> Path:
    """Archive of our packages and their data, laid out as in a wheel."""
    root = Path(packaged.__file__).parent.parent
    path = place / f"{ARCHIVE}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in OUR_PACKAGES:
            _add(archive, root / package, package)
        for name, folder in DATA.items():
            _add(archive, folder, f"emulator/data/{name}")
    return path


def _add(archive: zipfile.ZipFile, folder: Path, name: str) -> None:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and "__pycache__" not in inside.parts and inside.parts[0] != "data":
            archive.write(path, f"{name}/{inside}")
