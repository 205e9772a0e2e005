"""Each check finds its own mutant in a real run; the oracle, which shares no code, agrees."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from audit.audited_run import audit_runs
from audit.checks.check_registry import CHECKS
from emulator.run_layout import EVENTS_FOLDER, WIRE_SUFFIX
from emulator.runs.verdict_file import Verdict
from tests.audit.test_oracle_agrees import in_memory_together, written
from verification.agreement import differences
from verification.mutants.mutant import Mutant, applied
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


def judged(spark: SparkSession, runs: Mapping[str, Path], scratch: Path) -> dict[str, Verdict]:
    """Verdicts by the checks of these mutants; `verification.agreement` compares all checks."""
    checks = [CHECKS[name] for name in sorted({MUTANTS[name].check for name in runs})]
    verdicts = audit_runs(spark, [*runs.values()], scratch=str(scratch), checks=checks)
    return dict(zip(runs, verdicts, strict=True))


def test_every_check_has_a_mutant() -> None:
    assert {mutant.check for mutant in MUTANTS.values()} == set(CHECKS) - FIRES_IN_THE_CATALOGUE


@pytest.mark.slow
def test_each_mutant_is_found_by_its_check_and_by_the_oracle(spark: SparkSession, tmp_path: Path) -> None:
    right: dict[str, Verdict] = {}
    wrong: dict[str, tuple[Path, Verdict]] = {}

    def play(mutant: Mutant, name: str) -> tuple[Path, Verdict]:
        """Play, without events of the wire level: no check reads them, and most events are."""
        directory, oracle = written(tmp_path, mutant.scenario, mutant.version, mutant.seed, name)
        for path in (directory / EVENTS_FOLDER).glob(f"*{WIRE_SUFFIX}"):
            path.unlink()
        return directory, oracle

    for name, mutant in MUTANTS.items():
        played = f"{mutant.scenario}@{mutant.version}"
        if played not in right:
            _, right[played] = play(mutant, f"right-{Path(played).name}")
        with applied(mutant):
            wrong[name] = play(mutant, f"wrong-{name}")
    verdicts: dict[str, Verdict] = {}
    directories = {name: directory for name, (directory, _) in wrong.items()}
    for some in in_memory_together([*directories.values()]):
        verdicts |= judged(spark, {name: one for name, one in directories.items() if one in some}, tmp_path / "scratch")
    for name, (directory, oracle) in wrong.items():
        verdict = verdicts[name]
        mutant = MUTANTS[name]
        # Where its events contradict one another the audit says of what it did not find that it does not know.
        assert differences(verdict, oracle, doubted=True) == [], name
        assert verdict.checks[mutant.check].verdict != "unknown", name
        found, before = oracle.checks[mutant.check], right[f"{mutant.scenario}@{mutant.version}"].checks[mutant.check]
        assert (found.verdict, before.verdict) == ("violated", "held"), name
        assert hidden_parts(directory, verdict) == [], name
