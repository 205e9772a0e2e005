"""The audit's verdict of a trace: of one, or of all traces of a module at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from audit.expected import Expected
from emulator.runs.verdict_file import Verdict
from tests.audit.together import Judged, judged_together, never_built
from tests.audit.trace import Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Audit = Callable[..., Verdict]


@pytest.fixture(scope="session")
def verdicts_together(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Judged]:
    """{test: verdict} of all modules with TOGETHER: one Spark query, whatever their number."""
    tests = [item for item in request.session.items if isinstance(item, pytest.Function)]
    together = [test for test in tests if getattr(test.module, "TOGETHER", False)]
    return judged_together(spark, together, tmp_path_factory.mktemp("traces"))


@pytest.fixture
def audit(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Audit:
    """The verdict of one trace, or of a run's directory; keywords: the fields of `Expected`.

    In a module with TOGETHER every test passes one trace (`tests.audit.trace` explains it).
    """
    from audit.audited_run import audit_runs

    if getattr(request.module, "TOGETHER", False):
        judged: Judged | None = request.getfixturevalue("verdicts_together").get(request.node.nodeid)
        return judged.pickled_job if judged is not None else never_built

    def verdict_of(run: Trace | Path, **expected: Any) -> Verdict:
        path = run.write(tmp_path) if isinstance(run, Trace) else run
        of = (lambda _: Expected(**expected)) if expected else None
        [verdict] = audit_runs(spark, [path], scratch=str(tmp_path / "scratch"), expected=of)
        return verdict

    return verdict_of
