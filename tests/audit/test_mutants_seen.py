"""Each check finds its own mutant in a real run; the oracle, which shares no code, agrees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from audit.checks.check_registry import CHECKS
from emulator.runs.verdict_file import Verdict
from tests.audit.test_oracle_agrees import audited, written
from verification.agreement import differences
from verification.mutants.mutant import applied
from verification.mutants.table import MUTANTS
from verification.pretest_soundness import hidden_parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIRES_IN_THE_CATALOGUE = {"reordered", "inconsistent-offsets", "offset-out-of-range", "committed-offset-regression"}
"""Checks that correct machines violate.

The scenarios reordering, truncation-detection and committed-offsets-az-cut show it, to both judges
(`test_oracle_agrees`).
"""


def test_every_check_has_a_mutant() -> None:
    assert {mutant.check for mutant in MUTANTS.values()} == set(CHECKS) - FIRES_IN_THE_CATALOGUE


@pytest.mark.slow
def test_each_mutant_is_found_by_its_check_and_by_the_oracle(spark: SparkSession, tmp_path: Path) -> None:
    right: dict[str, Verdict] = {}
    wrong: dict[str, tuple[Path, Verdict]] = {}
    for name, mutant in MUTANTS.items():
        play = f"{mutant.scenario}@{mutant.version}"
        if play not in right:
            _, right[play] = written(tmp_path, mutant.scenario, mutant.version, mutant.seed, f"right-{play}")
        with applied(mutant):
            wrong[name] = written(tmp_path, mutant.scenario, mutant.version, mutant.seed, f"wrong-{name}")
    verdicts = audited(spark, tmp_path, [directory for directory, _ in wrong.values()])
    for verdict, (name, (_, oracle)) in zip(verdicts, wrong.items(), strict=True):
        mutant = MUTANTS[name]
        # Where its events contradict one another the audit says of what it did not find that it does not know.
        assert differences(verdict, oracle, doubted=True) == [], name
        assert verdict.checks[mutant.check].verdict != "unknown", name
        found, before = oracle.checks[mutant.check], right[f"{mutant.scenario}@{mutant.version}"].checks[mutant.check]
        assert (found.verdict, before.verdict) == ("violated", "held"), name
        assert hidden_parts(wrong[name][0], verdict) == [], name
