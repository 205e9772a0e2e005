"""Runs all checks on all runs as a few concurrent Spark queries (`audit.questions`).

If a check fails, the query is run again for each check alone; the failing one is *unknown*, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from audit.checks.check import Check
from audit.concurrent_queries import side_by_side
from audit.derived_tables import SMALL_MAX_BYTES
from audit.event_lines import read_lines, run_keys
from audit.input import RunDirectory, converted
from audit.parsed_events import parsed_events
from audit.questions import WIRE_COLUMNS, WIRE_LINES, How, Part, parts_of, questions, questions_apart
from audit.small_runs import VALUE_COLUMNS, SmallRuns
from audit.spark_session import first_line
from audit.topic_incarnations import lives_in_files
from audit.tuning import tuned
from emulator.judging.findings import Findings, Judged, add_row
from protocol.events.record_values import values_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVIDENCE_MAX = 20

Rows = list[Mapping[str, Any]]


def judge(
    spark: SparkSession,
    runs: Sequence[RunDirectory],
    checks: Sequence[Check],
    scratch: str,
    evidence_max: int = EVIDENCE_MAX,
) -> list[Judged]:
    """Judge `runs`, in order.

    `scratch`: a directory for data that does not fit in memory. `evidence_max`: maximum of violations in the evidence
    of each check and run.
    """
    runs = converted(runs, Path(scratch, "converted"))
    size_bytes = sum(run.size_bytes for run in runs)
    small = size_bytes <= SMALL_MAX_BYTES
    with tuned(spark, small, size_bytes):
        answers = (_of_small if small else _of_big)(spark, runs, checks, scratch, evidence_max)
    judged = judged_by(answers.rows, answers.values, checks, run_keys(runs))
    for of_run in judged:
        for name, reason in answers.crashed.items():
            of_run.findings[name].crashed = reason
    return judged


class Answers(NamedTuple):
    """Results of the queries.

    `values`: {(run, operation): values of its records} of operations that violations name. `crashed`: {check: why its
    queries failed}.
    """

    rows: Rows
    values: Mapping[tuple[str, str], Sequence[str]]
    crashed: Mapping[str, str]


def _of_small(
    spark: SparkSession, runs: Sequence[RunDirectory], checks: Sequence[Check], scratch: str, evidence_max: int
) -> Answers:
    """Answers to the parts that may have rows of one of the runs."""
    files, lives = parsed_events(runs), lives_in_files(runs)
    # Pre-tests do not tell the incarnations of a topic apart.
    pretested = None if files is None or lives.found else files.pretested
    how = How(tallied=files is not None, wire=files is None and _have_wire(runs))
    parts = parts_of(checks, how)
    if pretested is not None:
        parts = [part for part in parts if part.may_have_rows(pretested)]
    tables = SmallRuns(spark, runs, files, lives, pretested)
    tables.make(parts)
    if how.wire:
        read_lines(spark, runs, WIRE_COLUMNS, wire=True).createOrReplaceTempView(WIRE_LINES)

    def each(queries: Sequence[str]) -> Rows:
        return [row for rows in side_by_side(tables.rows, queries) for row in rows]

    rows, crashed = _answered(each, parts, evidence_max)
    named = operations_named(rows)
    return Answers(rows, values_of(tables.values(named) if named else ()), crashed)


def _of_big(
    spark: SparkSession, runs: Sequence[RunDirectory], checks: Sequence[Check], scratch: str, evidence_max: int
) -> Answers:
    from audit.line_store import lines_in_files
    from audit.prepared import prepare

    facts = prepare(spark, runs, lines_in_files(spark, runs, f"{scratch}/lines"))
    wire = _have_wire(runs)
    if wire:
        read_lines(spark, runs, WIRE_COLUMNS, wire=True).createOrReplaceTempView(WIRE_LINES)
    parts = [part for part in parts_of(checks, How(tallied=True, wire=wire)) if not facts.is_empty(part.query)]

    def each(queries: Sequence[str]) -> Rows:
        answers = facts.each(lambda query: [row.asDict() for row in facts.sql(query).collect()], queries)
        return [row for rows in answers for row in rows]

    rows, crashed = _answered(each, parts, evidence_max, facts.of_few)
    named = operations_named(rows)
    invoked = spark.table("invocations").where(F.col("operation").isin(named))
    values = [row.asDict() for row in invoked.select(*VALUE_COLUMNS).collect()] if named else []
    return Answers(rows, values_of(values), crashed)


def _have_wire(runs: Sequence[RunDirectory]) -> bool:
    return any(run.paths(wire=True) for run in runs)


def _answered(
    each: Callable[[Sequence[str]], Rows],
    parts: Sequence[Part],
    evidence_max: int,
    apart: Callable[[str], bool] = lambda _: False,
) -> tuple[Rows, dict[str, str]]:
    """Rows of all parts, and of each check whose queries fail the reason.

    `each`: rows of all results of queries. Raises PySparkException: a question about the run itself fails.
    """
    crashed: dict[str, str] = {}
    try:
        return each(questions(parts, evidence_max, apart=apart)), crashed
    except PySparkException:
        rows: Rows = []
        for name, queries in questions_apart(parts, evidence_max).items():
            try:
                rows += each(queries)
            except PySparkException as error:
                if not name:
                    raise
                crashed[name] = first_line(error)
        return rows, crashed


def operations_named(rows: Rows) -> list[str]:
    """Operations that violations name."""
    violations = (msgspec.json.decode(row["details"]) for row in rows if row["kind"] == "violation")
    return sorted({details["operation"] for details in violations if "operation" in details})


def values_of(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """{(run, operation): values of its records}. `rows`: operations with VALUE_COLUMNS."""
    return {(row["run"], row["operation"]): values_in(row["value"], row["records"]) for row in rows}


def judged_by(
    rows: Rows, values: Mapping[tuple[str, str], Sequence[str]], checks: Sequence[Check], runs: Sequence[str]
) -> list[Judged]:
    """Results of each run, in the order of `runs`, which are their keys."""
    judged = {key: Judged({check.name: Findings() for check in checks}, [], []) for key in runs}
    for row in rows:
        add_row(judged[row["run"]], row, values)
    for of_run in judged.values():
        of_run.notes.sort(key=lambda note: (note.at_ms, note.node, note.incarnation, note.seq))
    return [judged[key] for key in runs]
