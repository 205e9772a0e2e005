"""One Spark session for all tests of the audit: it takes seconds to start and queries leave nothing in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

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


class _Built(Exception):
    """A test got as far as its trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace


def _stop_at_the_trace(trace: Trace) -> NoReturn:
    raise _Built(trace)


@pytest.fixture(scope="module")
def verdicts_together(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Verdict]:
    """{test: verdict of its trace}, of a module whose tests give `audit` one trace each. One query for all of them: a
    query for each would take minutes."""
    from audit.run import audit_runs

    folder: Path = tmp_path_factory.mktemp("traces")
    runs: dict[str, Path] = {}
    for number, item in enumerate(request.session.items):
        if isinstance(item, pytest.Function) and item.module is request.module:
            with pytest.raises(_Built) as built:
                item.obj(audit=_stop_at_the_trace, **(item.callspec.params if hasattr(item, "callspec") else {}))
            built.value.trace.run = f"trace-{number}"
            runs[item.nodeid] = built.value.trace.write(folder)
    judged = audit_runs(spark, list(runs.values()), scratch=str(folder / "scratch"))
    return dict(zip(runs, judged, strict=True))


@pytest.fixture
def audit(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Audit:
    """The verdict of one trace, or of a run's directory; keywords: the fields of `Expected`. In a module that says
    TOGETHER every test gives it one trace."""
    from audit.run import audit_runs

    if getattr(request.module, "TOGETHER", False):
        verdicts: dict[str, Verdict] = request.getfixturevalue("verdicts_together")
        return lambda trace: verdicts[request.node.nodeid]

    def verdict_of(run: Trace | Path, **expected: Any) -> Verdict:
        path = run.write(tmp_path) if isinstance(run, Trace) else run
        of = (lambda _: Expected(**expected)) if expected else None
        [verdict] = audit_runs(spark, [path], scratch=str(tmp_path / "scratch"), expected=of)
        return verdict

    return verdict_of
