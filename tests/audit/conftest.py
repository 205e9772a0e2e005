"""One Spark session for all tests of the audit: it takes seconds to start and queries leave nothing in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from audit.expected import Expected
from audit.session import Gateway, find_java, spark_session, start_gateway
from emulator.runs.verdict import Verdict
from tests.audit.trace import Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Audit = Callable[..., Verdict]


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    directory = tmp_path_factory.mktemp("spark")
    with start_gateway(find_java(os.environ), directory, master="local[2]", nice=1) as started:
        yield started


@pytest.fixture(scope="session")
def spark(gateway: Gateway) -> SparkSession:
    return spark_session(gateway)


@pytest.fixture
def audit(spark: SparkSession, tmp_path: Path) -> Audit:
    """The verdict of one trace, or of a run's directory; keywords: the fields of `Expected`."""
    from audit.run import audit_runs

    def verdict_of(run: Trace | Path, **expected: Any) -> Verdict:
        path = run.write(tmp_path) if isinstance(run, Trace) else run
        of = (lambda _: Expected(**expected)) if expected else None
        [verdict] = audit_runs(spark, [path], scratch=str(tmp_path / "scratch"), expected=of)
        return verdict

    return verdict_of
