"""Spark's failures, as one line."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

from audit.spark_session import CAUSES_MAX, SparkFailed, spark_faults

GATEWAY: Any = SimpleNamespace(process=SimpleNamespace(poll=lambda: None))


class JavaException:
    """As py4j shows one."""

    def __init__(self, message: str | None, cause: JavaException | None = None) -> None:
        self.message, self.cause, self.asked = message, cause, 0

    def toString(self) -> str:
        return f"org.apache.spark.SparkException: {self.message}\n  at java.base"

    def getMessage(self) -> str | None:
        return self.message

    def getCause(self) -> JavaException | None:
        self.asked += 1
        return self.cause


class Failed(Py4JError):  # type: ignore[misc]
    def __init__(self, java_exception: JavaException) -> None:
        super().__init__("An error occurred while calling o7.parquet.")
        self.java_exception = java_exception


def reported(java_exception: JavaException) -> str:
    with pytest.raises(SparkFailed) as failed, spark_faults(GATEWAY):
        raise Failed(java_exception)
    return str(failed.value)


@pytest.mark.parametrize(
    ("below", "message"),
    [
        (None, "Task failed while writing rows to file:/out"),
        (JavaException(None), "Task failed while writing rows to file:/out"),
        (JavaException("stage", JavaException("No space left on device\n  (Linux)")),
         "Task failed while writing rows to file:/out: No space left on device"),
    ],
)  # fmt: skip
def test_the_first_cause_is_reported_behind_sparks_message(below: JavaException | None, message: str) -> None:
    output = reported(JavaException("Task failed while writing rows to file:/out", below))
    assert output == f"Spark failed: org.apache.spark.SparkException: {message}"


def test_causes_in_a_circle_come_to_an_end() -> None:
    circle = JavaException("a")
    circle.cause = circle
    assert reported(circle).endswith(": a") and circle.asked == CAUSES_MAX
