"""The audit's own queries, translated: DuckDB finds with them the same as the oracle.

The oracle reads the machines themselves.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.checks.check_registry import CHECKS
from benchmarks.beside_duckdb import by_duckdb
from benchmarks.synthetic_run import write_run
from tests.audit.test_oracle_agrees import written

pytestmark = pytest.mark.slow

FOUND_BY_THE_ORACLE = (
    ("az-isolated-leader", "2.6", {"lost-acknowledged", "dual-leader"}),
    ("workload-az-cut", "2.8", {"duplicate"}),
    ("kip101-case2-compressed", "0.10.2", {"replica-divergence"}),
    ("reordering", "2.8", {"reordered"}),
    ("committed-offsets-az-cut", "2.8", {"committed-offset-regression"}),
)


@pytest.mark.parametrize(("scenario", "version", "expected"), FOUND_BY_THE_ORACLE)
def test_what_is_found_is_what_the_oracle_finds(
    tmp_path: Path, scenario: str, version: str, expected: set[str]
) -> None:
    directory, oracle = written(tmp_path, scenario, version, 1, scenario)
    _, found = by_duckdb(directory)
    assert {name for name, count in found.items() if count} >= expected
    judged = {name: verdict.count for name, verdict in oracle.checks.items() if verdict.verdict in ("held", "violated")}
    assert {name: found[name] for name in judged} == judged


def test_a_run_of_the_benchmark_has_something_to_find(tmp_path: Path) -> None:
    write_run(tmp_path, 4_000)
    _, found = by_duckdb(tmp_path)
    assert [*found] == [*CHECKS]
    assert {name for name, count in found.items() if count} == {
        "lost-acknowledged",
        "dual-leader",
        "committed-truncated",
    }
