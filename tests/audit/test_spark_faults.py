"""Failures of Spark, as one line."""

from __future__ import annotations

import pytest
from grpc import RpcError
from pyspark.errors import PySparkException

from audit.spark_session import SparkFailed, spark_faults

OF_GRPC = """<_MultiThreadedRendezvous of RPC that terminated with:
\tstatus = StatusCode.UNAVAILABLE
\tdetails = "failed to connect to all addresses"
\tdebug_error_string = "UNKNOWN:..."
>"""


class Refused(RpcError):  # type: ignore[misc]
    def __str__(self) -> str:
        return OF_GRPC


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PySparkException("\n[TABLE_OR_VIEW_NOT_FOUND] no t\n== SQL ==\nSELECT"), "[TABLE_OR_VIEW_NOT_FOUND] no t"),
        (PySparkException(""), "PySparkException"),
        (Refused(), "UNAVAILABLE: failed to connect to all addresses"),
        (ConnectionResetError("reset"), "reset"),
    ],
    ids=["of a query", "without a message", "of the connection", "of a socket"],
)
def test_a_failure_is_one_line(error: Exception, message: str) -> None:
    with pytest.raises(SparkFailed) as failed, spark_faults():
        raise error
    assert str(failed.value) == f"Spark failed: {message}"


def test_other_errors_are_left_alone() -> None:
    with pytest.raises(ValueError, match="mine"), spark_faults():
        raise ValueError("mine")
