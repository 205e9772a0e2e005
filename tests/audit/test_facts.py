"""The tables that checks read: each query's route, and the time when cached tables are made."""

from __future__ import annotations

from typing import Any, cast

import pytest

from audit.checks.check_registry import CHECKS
from audit.empty_queries import Known
from audit.event_groups import TABLES
from audit.questions import How, parts_of, questions
from audit.table_catalog import Facts


class Session:
    """Stands in for Spark's: what it was asked is what it answers, with how it was tuned then."""

    def __init__(self) -> None:
        self.conf = self
        self._settings: dict[str, str] = {}

    @property
    def getAll(self) -> dict[str, str]:
        return dict(self._settings)

    def set(self, key: str, value: str) -> None:
        self._settings[key] = value

    def unset(self, key: str) -> None:
        del self._settings[key]

    def sql(self, query: str) -> tuple[str, str]:
        return query, self._settings.get("spark.sql.adaptive.enabled", "as it was")


def facts(*, rare: bool = True, many: frozenset[str] = frozenset()) -> Facts:
    return Facts(cast(Any, Session()), cast(Any, None), rare, set(many), Known())


@pytest.mark.parametrize(
    ("query", "few"),
    [
        ("SELECT * FROM rest JOIN settled USING (run)", True),
        ("SELECT * FROM lost", True),
        *((f"SELECT 1 FROM {table}", False) for table in (*TABLES, "lines", "logs", "wire_lines", "promised")),
        ("select 1 from `Appends`", False),
        ("SELECT * FROM logs_of_mine", True),
    ],
)
def test_queries_of_tables_with_few_rows_are_those_of_a_small_run(query: str, few: bool) -> None:
    requested = facts(many=frozenset({"promised"}))
    assert requested.of_few(query) is few
    [(_, adapted)] = requested.each(lambda one: cast(tuple[str, str], requested.sql(one)), [query])
    assert adapted == ("false" if few else "as it was")
    assert not facts(rare=False).of_few(query), "rare events are many"


MARKED = "/*gather*/ /*spread(run)*/ /*few(lost)*/ {table}\n--big more"


def test_marks_are_reported_by_the_route_of_a_query() -> None:
    def requested(of: Facts, table: str) -> str:
        query, _ = cast(tuple[str, str], of.sql(MARKED.format(table=table)))
        return query

    assert requested(facts(), "rest") == "/*+ COALESCE(1) */   rest\nmore"
    assert requested(facts(), "appends") == " /*+ REPARTITION(run) */ /*+ BROADCAST(lost) */ appends\nmore"
    assert requested(facts(many=frozenset({"lost"})), "rest") == " /*+ REPARTITION(run) */  rest\nmore"


def test_answers_come_in_the_order_of_the_questions() -> None:
    queries = [f"{table} {number}" for number, table in enumerate(("rest", "logs", "rest", "appends", "lost"))]
    assert facts().each(lambda query: query, queries) == queries


def test_every_part_of_an_audit_is_queried_once_on_any_route() -> None:
    parts = parts_of(tuple(CHECKS.values()), How(tallied=True, wire=True))
    together = questions(parts, 20)
    apart = questions(parts, 20, apart=facts().of_few)
    assert any(map(facts().of_few, apart)) and not any(map(facts().of_few, together))
    for name in CHECKS:
        assert sum(query.count(f"'{name}' AS check, 'violation' AS kind") for query in apart) == 1, name
        counted = sum(query.count(f"'{name}' AS check, 'counted' AS kind") for query in apart)
        assert counted == bool(CHECKS[name].counted), name
    kinds = ("counts", "note", "unavailable", "unknown-outcomes", "two-at-once", "doubt")
    for kind in kinds:
        requested = [sum(query.count(f"'{kind}' AS kind") for query in queries) for queries in (together, apart)]
        assert requested[0] == requested[1] > 0, kind
