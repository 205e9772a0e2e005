"""A Spark session for the audit: small jobs, quick answers, no files outside its directory.

`start_gateway` starts the Java virtual machine and returns at once; `spark_session` waits for it and opens the session.
Between the two lies other work, as a rule the whole run that is going to be audited.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.gateway import READY_TIMEOUT_S, Gateway, GatewayError, Tuning, start_gateway, tuning_for
from audit.java import Java, NoJavaError, find_java, is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "Gateway",
    "GatewayError",
    "Java",
    "NoJavaError",
    "SparkFailed",
    "Tuning",
    "find_java",
    "first_line",
    "is_local",
    "spark_faults",
    "spark_is_taken",
    "spark_session",
    "start_gateway",
    "tuning_for",
]

DEFAULT_MASTER = "local[*]"
CAUSES_MAX = 20
"""Maximum of causes: Java's exceptions may form a circle."""


class SparkFailed(GatewayError):
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


def spark_session(
    gateway: Gateway,
    *,
    app_name: str = "faultline audit",
    settings: Mapping[str, str] | None = None,
    timeout_s: float = READY_TIMEOUT_S,
) -> SparkSession:
    """Open the session in `gateway`'s virtual machine, on the gateway's master.

    Args:
        settings: Spark settings that take precedence.
        timeout_s: limit of the virtual machine's start.

    Raises:
        GatewayError: the virtual machine did not start, or Spark refused the master or a setting, or this process
        already
            works with another.
    """
    client = gateway.connect(timeout_s)
    if spark_is_taken():
        raise GatewayError("This process has a Spark session of its own, and there can be one: stop it first.")
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    conf = SparkConf(_jvm=client.jvm)
    conf.setMaster(gateway.master).setAppName(app_name)
    for key, value in {**_settings(gateway), **(settings or {})}.items():
        conf.set(key, value)
    try:
        context = SparkContext(conf=conf, gateway=client)
        context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)  # by default any `python3`
        return SparkSession(context)
    except Py4JError as error:
        reason = f"Spark did not start on {gateway.master}: {first_line(error)}."
        raise GatewayError(reason + gateway.log_tail()) from error


def spark_is_taken() -> bool:
    """Whether this process has a Spark context, from faultline or not; there can be one only."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


@contextmanager
def spark_faults(gateway: Gateway) -> Iterator[None]:
    """Turn every failure of Spark into SparkFailed: one line, without Java's stack."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException, ConnectionError) as error:
        code = gateway.process.poll()
        if code is not None:
            raise SparkFailed(f"Java ended with code {code} while Spark worked.{gateway.log_tail()}") from error
        raise SparkFailed(f"Spark failed: {first_line(error)}") from error


def _settings(gateway: Gateway) -> dict[str, str]:
    settings = settings_in(gateway.directory)
    if gateway.tuning == "quick":
        settings |= QUICK_SETTINGS
    if is_local(gateway.master):
        settings |= ON_LOOPBACK
    return settings


def settings_in(directory: Path) -> dict[str, str]:
    """SETTINGS of a Spark whose files lie in `directory` alone."""
    places = {"spark.local.dir": "tmp", "spark.sql.warehouse.dir": "warehouse"}
    return SETTINGS | {key: str(directory / name) for key, name in places.items()}


def first_line(error: Exception) -> str:
    """Spark's message, and the operating system's below it, such as a full disk."""
    java_exception: Any = getattr(error, "java_exception", None)
    text = str(java_exception.toString()) if java_exception is not None else str(error)
    lines = [line for line in text.splitlines() if line.strip()]
    message = lines[0] if lines else type(error).__name__
    below = _deepest(java_exception)
    return message if not below or below in message else f"{message}: {below}"


def _deepest(java_exception: Any) -> str:
    """The message of the innermost exception, in one line; "" without one."""
    cause, message = java_exception, ""
    for _ in range(CAUSES_MAX):
        if cause is None:
            break
        message = str(cause.getMessage() or "").partition("\n")[0]
        cause = cause.getCause()
    return message
