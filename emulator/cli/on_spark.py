"""`--master`: runs are played by a Spark cluster instead of this machine's cores.

Tasks go out in lots, and results come back after each wave of lots. Spark reassigns the lots of a lost executor. Our
code travels as an archive, which every executor unpacks. Its dependencies (msgspec, structlog and so on) must be
installed for the Python there (PYSPARK_PYTHON; by default the driver's Python).
"""

from __future__ import annotations

import pickle
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
    from pyspark.sql import SparkSession

LOT_MAX: Final = 50
"""Maximum tasks of a lot: a second or two of one core."""
WAVE_LOTS_MAX: Final = 8
"""Maximum lots of a wave, per core; first waves are smaller, so that results come early."""
PROBE_ROWS: Final = 1 << 16
"""Rows enough that every core gets some."""
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
    from audit.java import NoJavaError, is_local
    from audit.spark_java import SparkNotStarted

    settings = {"spark.python.worker.reuse": "true", "spark.task.maxFailures": "8"}
    try:
        with spark_of(master, 0, settings) as (spark, place):
            if not is_local(master):
                spark.addArtifact(f"{archive_in(place)}#{ARCHIVE}", archive=True)
            yield partial(on_session, spark)
    except (SparkNotStarted, NoJavaError) as error:
        raise NotOnSpark(str(error)) from error


@contextmanager
def on_session(
    spark: SparkSession, make: Callable[[Any], Worker[Any, Any]], spec: object, /, *, most: int
) -> Iterator[Callable[[Sequence[Any]], Iterator[Any]]]:
    """Executors of a Spark session, called as `all_cores` is. Raises NotOnSpark."""
    from pyspark.errors import PythonException
    from pyspark.sql import functions as F

    play_lots = partial(_of_lots(), pickled_job(make, spec))
    cores = max(1, spark.range(PROBE_ROWS).select(F.spark_partition_id()).distinct().count())

    def play(tasks: Sequence[Any]) -> Iterator[Any]:
        for lots in waves(tasks, cores):
            spark.conf.set("spark.sql.leafNodeDefaultParallelism", str(len(lots)))  # a task for each lot
            rows = spark.createDataFrame([(pickle.dumps([*lot]),) for lot in lots], "pickled BINARY")
            try:
                ended = rows.mapInArrow(play_lots, "pickled BINARY").collect()
            except PythonException as error:
                raise NotOnSpark(f"the executors' Python (PYSPARK_PYTHON): {_last_words(str(error))}") from None
            for row in ended:
                yield from pickle.loads(row["pickled"])

    yield play


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


def _of_lots() -> Callable[[bytes, Iterator[Any]], Iterator[Any]]:
    """Function that plays lots in an executor's Python.

    It travels by value: executors do not have our packages before it has run.
    """
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    return _play_lots


def _play_lots(task_setup: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    import os
    import pickle
    import sys

    import pyarrow as pa
    from pyspark import SparkFiles

    try:
        unpacked = os.path.join(SparkFiles.getRootDirectory(), "faultline")
    except Exception:  # no archive was sent: this is the driver's Python
        unpacked = ""
    if unpacked and os.path.isdir(unpacked) and unpacked not in sys.path:
        sys.path.insert(0, unpacked)
    from emulator.runs.remote_worker import played

    for batch in batches:
        ended = [pickle.dumps(played(task_setup, pickle.loads(lot.as_py()))) for lot in batch["pickled"]]
        yield pa.RecordBatch.from_pydict({"pickled": pa.array(ended, pa.binary())})


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
