"""Queries that provably have no row: the proof from the text, and Spark's result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from audit.checks.check_registry import CHECKS
from audit.derived_tables import FLOORS
from audit.empty_queries import Known, is_empty
from audit.input import read_directory
from audit.line_store import lines_in_files
from audit.prepared import prepare
from audit.questions import How, parts_of
from tests.audit.trace import dual_leader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KNOWN = Known(
    {"none"},
    {
        "rest": frozenset({("role_changed", None, None), ("log_loaded", None, None)}),
        "operations": frozenset({("operation_ended", "produce", "ok"), ("operation_ended", "commit", None)}),
        "reads": frozenset(),
    },
)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM none",
        "SELECT * FROM `None` AS n",
        "SELECT a FROM reads WHERE b > 1 ORDER BY a LIMIT 3",
        "SELECT * FROM some JOIN none USING (run)",
        "SELECT * FROM some, none",
        "SELECT * FROM none LEFT JOIN some USING (run)",
        "SELECT * FROM some RIGHT JOIN none USING (run)",
        "SELECT * FROM none FULL JOIN reads USING (run)",
        "SELECT * FROM some LEFT SEMI JOIN none USING (run)",
        "SELECT * FROM none LEFT ANTI JOIN some USING (run)",
        "SELECT * FROM none UNION ALL SELECT * FROM reads",
        "SELECT * FROM none EXCEPT SELECT * FROM some",
        "SELECT * FROM some INTERSECT SELECT * FROM none",
        "SELECT * FROM (SELECT * FROM none WHERE a)",
        "WITH a AS (SELECT * FROM none), b AS (SELECT x FROM a) SELECT x FROM b JOIN some USING (x)",
        "SELECT run, count(*) FROM none GROUP BY run",
        "SELECT run, max(a) FROM none GROUP BY ALL",
        "SELECT a, max(b) OVER (PARTITION BY c) FROM none",
        "SELECT lead(a) OVER (ORDER BY b), row_number() OVER (ORDER BY b) FROM none",
        "SELECT explode(a) FROM none",
        "SELECT * FROM none LATERAL VIEW explode(a) AS b",
        "SELECT * FROM rest WHERE event = 'log_deleted'",
        "SELECT * FROM rest AS r WHERE r.event IN ('log_deleted', 'log_created') AND a = 1",
        "SELECT * FROM rest WHERE event != 'role_changed' AND event != 'log_loaded'",
        "SELECT * FROM operations WHERE kind = 'produce' AND outcome != 'ok'",
        "SELECT * FROM operations WHERE kind = 'commit' AND outcome = 'ok'",
        "SELECT * FROM some AS s JOIN rest AS r ON s.run = r.run AND r.event = 'log_deleted'",
        "SELECT * FROM operations AS o JOIN some AS s ON o.run = s.run WHERE o.kind = 'committed'",
    ],
)
def test_no_row_is_proven(query: str) -> None:
    assert is_empty(query, KNOWN)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1",
        "SELECT * FROM some",
        "SELECT count(*) FROM none",
        "SELECT coalesce(sum(a), 0) FROM none",
        "SELECT max(sum(a)) OVER () FROM none",
        "SELECT a_function_of_a_user(b) FROM none",
        "SELECT count(*) FROM none GROUP BY ALL",
        "SELECT count(*) FROM none GROUP BY GROUPING SETS ((a), ())",
        "SELECT a, count(*) FROM none GROUP BY ROLLUP (a)",
        "SELECT 1 FROM none HAVING true",
        "SELECT * FROM some LEFT JOIN none USING (run)",
        "SELECT * FROM none RIGHT JOIN some USING (run)",
        "SELECT * FROM none FULL JOIN some USING (run)",
        "SELECT * FROM some LEFT ANTI JOIN none USING (run)",
        "SELECT * FROM none UNION ALL SELECT * FROM some",
        "SELECT * FROM some EXCEPT SELECT * FROM none",
        "WITH none AS (SELECT * FROM some) SELECT * FROM none",
        "WITH None AS (SELECT * FROM some) SELECT * FROM none",
        "WITH RECURSIVE r AS (SELECT * FROM none UNION ALL SELECT * FROM r) SELECT * FROM r",
        "SELECT * FROM other.none",
        "SELECT * FROM VALUES (1)",
        "SELECT * FROM rest WHERE event = 'log_deleted' OR a = 1",
        "SELECT * FROM rest WHERE event = 'role_changed'",
        "SELECT * FROM rest WHERE event = some_column",
        "SELECT * FROM rest WHERE NOT event = 'log_deleted'",
        "SELECT * FROM rest WHERE lower(event) = 'log_deleted'",
        "SELECT * FROM rest LEFT JOIN some AS s ON s.event = 'log_deleted'",
        "SELECT * FROM some AS s LEFT JOIN rest AS r ON r.event = 'log_deleted'",
        "SELECT * FROM rest AS r JOIN some AS s WHERE event = 'log_deleted'",
        "SELECT * FROM operations WHERE kind = 'produce' AND outcome = 'ok'",
        "SELECT * FROM operations WHERE outcome IS NULL",
        "this is no query",
    ],
)
def test_a_row_may_come_out(query: str) -> None:
    assert not is_empty(query, KNOWN)


@pytest.mark.spark
def test_what_is_left_out_of_an_audit_has_no_row_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    run = read_directory(dual_leader().write(tmp_path))
    facts = prepare(spark, [run], lines_in_files(spark, [run], str(tmp_path / "lines")))
    parts = [part.query for part in parts_of(tuple(CHECKS.values()), How(tallied=True, wire=False))]
    left_out = [part for part in parts if facts.is_empty(part)]
    assert len(left_out) > len(parts) // 4, "a run with one fault has few suspects"
    for query in (*left_out, *(floor[name] for floor in FLOORS for name in floor if name in facts.known.empty)):
        assert not facts.sql(query).collect(), query
