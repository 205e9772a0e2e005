"""Settings and failures of Spark sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from audit.spark_java import SparkNotStarted

DEFAULT_MASTER: Final = "local[*]"


class SparkFailed(SparkNotStarted):
    """Spark ended or failed: no evidence, for or against."""


SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.sql.ui.explainMode": "simple",  # of every plan, and of each change to it, for a page without readers
    "spark.sql.catalogImplementation": "in-memory",  # no Hive: saves a metastore and its files
    "spark.sql.session.timeZone": "UTC",
    # A large audit makes 1,300 classes; of a hundred, the default, many are thrown away before the next task asks.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # A sum that overflows or a cast that fails is an error, never a quiet null.
    "spark.sql.ansi.enabled": "true",
    # Events are tens of megabytes at most: two partitions fill two cores, two hundred would only be
    # scheduled.
    "spark.sql.shuffle.partitions": "2",
}

ON_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}

# Generating, compiling and loading a class per query costs more than interpreting a few thousand rows.
QUICK_SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def spark_faults() -> Iterator[None]:
    """Turn every failure of Spark into SparkFailed: one line."""
    from grpc import RpcError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, RpcError, ConnectionError) as error:
        raise SparkFailed(f"Spark failed: {first_line(error)}") from error


def spark_is_taken() -> bool:
    """Whether this process has a Spark context; there can be one only."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


def settings_in(directory: Path) -> dict[str, str]:
    """SETTINGS of a Spark whose files lie in `directory` alone."""
    places = {"spark.local.dir": "tmp", "spark.sql.warehouse.dir": "warehouse"}
    return SETTINGS | {key: str(directory / name) for key, name in places.items()}


def first_line(error: Exception) -> str:
    """Spark's message in one line: what the connection reports, or Spark's own."""
    status = re.search(r'status = StatusCode\.(\w+)\s+details = "(.*)"', str(error))
    if status is not None:
        return f"{status[1]}: {status[2]}"
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
