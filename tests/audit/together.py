"""Traces of many tests in one Spark query, which costs seconds; a trace costs little.

Each test is called twice. The first time its `audit` takes the trace and ends the test there; when all traces are
known they are audited together; the second time, which is the test, `audit` answers with the verdict of its trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import pytest

from audit.audited_run import audit_runs
from audit.expected import Expected, expected_of
from emulator.runs.verdict_file import Verdict
from tests.audit.trace import Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Judged(msgspec.Struct, frozen=True):
    """A trace's run and what the audit says of it."""

    run: Path
    verdict: Verdict

    def pickled_job(self, trace: Trace, **expected: Any) -> Verdict:
        """`trace` is the test's second, made as the one that was judged."""
        trace.path = self.run
        return self.verdict


def never_built(trace: Trace, **expected: Any) -> NoReturn:
    """`audit` of a test whose first call came to no trace."""
    raise AssertionError("a test of a module that says TOGETHER takes `audit` and its parameters, and no other fixture")


class _Built(BaseException):
    """A test got as far as its trace. No test may catch it."""

    def __init__(self, trace: Trace, expected: dict[str, Any]) -> None:
        self.trace = trace
        self.expected = expected


def _stop_at_the_trace(trace: Trace, **expected: Any) -> NoReturn:
    raise _Built(trace, expected)


def judged_together(spark: SparkSession, tests: Iterable[pytest.Function], folder: Path) -> dict[str, Judged]:
    """{a test's name: its trace, judged}.

    A test that fails before it has a trace reports that itself.
    """
    runs: dict[str, Path] = {}
    wanted: dict[Path, Expected] = {}
    for number, test in enumerate(tests):
        try:
            test.obj(audit=_stop_at_the_trace, **(test.callspec.params if hasattr(test, "callspec") else {}))
        except _Built as built:
            built.trace.run = f"trace-{number}"
            run = runs[test.nodeid] = built.trace.write(folder)
            wanted[run] = Expected(**built.expected) if built.expected else expected_of(run)
        except Exception:  # its own second call will raise it, as the test that it is
            continue
    verdicts = audit_runs(spark, list(runs.values()), scratch=str(folder / "scratch"), expected=wanted.__getitem__)
    return {name: Judged(run, verdict) for (name, run), verdict in zip(runs.items(), verdicts, strict=True)}
