"""The cheaper queries of big runs agree about the traces that their checks reject."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from audit.audited_run import audit_runs
from audit.checks.check_registry import CHECKS
from audit.small_tables import FEW_MAX
from emulator.runs.verdict_file import CheckVerdict
from tests.audit.together import Judged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IN_OTHER_WORDS = [name for name, check in CHECKS.items() if "--big" in check.violations or check.counted]
"""Checks that big runs answer by another query."""
BY_HINTS = [name for name, check in CHECKS.items() if "/*few" in check.violations or "/*gather" in check.violations]
"""Checks whose query has hints for big runs; the other queries are the same for all runs."""


def _found(reported: CheckVerdict) -> tuple[object, ...]:
    """The findings that do not depend on the test's expectation."""
    return (
        reported.count,
        reported.judged,
        reported.evidence,
        reported.by_acks,
        reported.allowed,
        reported.verdict == "unknown",
    )


@pytest.mark.spark
@pytest.mark.parametrize(
    ("names", "few_max"),
    [
        pytest.param(sorted({*IN_OTHER_WORDS, *BY_HINTS}), FEW_MAX, marks=pytest.mark.slow, id="few rows"),
        pytest.param(IN_OTHER_WORDS, 0, marks=pytest.mark.slow, id="many rows"),
    ],
)
def test_a_trace_that_a_check_rejects_is_judged_alike_as_part_of_a_big_run(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    verdicts_together: dict[str, Judged],
    names: Sequence[str],
    few_max: int,
) -> None:
    """`few_max`: so many rows are few; 0: none are."""
    chosen: dict[Path, Judged] = {}
    for check in names:
        violated = [judged for judged in verdicts_together.values() if judged.verdict.checks[check].count]
        if not violated:
            pytest.skip(f"{check}: the traces are those of other modules, which are not called")
        chosen[violated[0].run] = violated[0]
        if CHECKS[check].counted:
            most = max(verdicts_together.values(), key=lambda judged: judged.verdict.checks[check].judged)
            chosen[most.run] = most
    monkeypatch.setattr("audit.audit_run.SMALL_MAX_BYTES", 0)
    monkeypatch.setattr("audit.small_tables.FEW_MAX", few_max)
    big = audit_runs(spark, [*chosen], scratch=str(tmp_path), checks=[CHECKS[name] for name in names])
    differ = {
        (judged.run.name, name): (_found(reported), _found(of_big.checks[name]))
        for judged, of_big in zip(chosen.values(), big, strict=True)
        for name, reported in judged.verdict.checks.items()
        if name in names and _found(reported) != _found(of_big.checks[name])
    }
    assert not differ
