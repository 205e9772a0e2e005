"""Runs all checks on all runs as a few concurrent Spark queries (`audit.questions`).

If a check fails, the query is run again for each check alone; the failing one is *unknown*, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from audit.checks.check import Check
from audit.event_groups import COLUMNS
from audit.event_lines import read_lines, run_keys
from audit.input import RunDirectory, converted
from audit.line_store import lines_in_files
from audit.prepared import prepare
from audit.questions import WIRE_COLUMNS, WIRE_LINES, How, questions, questions_apart
from audit.spark_session import first_line
from audit.table_catalog import SMALL_MAX_BYTES, Facts
from audit.tuning import tuned
from emulator.judging.findings import Findings, Judged, add_row
from protocol.events.record_values import values_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
        facts = prepare(
            spark, runs, read_lines(spark, runs, COLUMNS) if small else lines_in_files(spark, runs, f"{scratch}/lines")
        )
        wire = any(run.paths(wire=True) for run in runs)
        if wire:
            read_lines(spark, runs, WIRE_COLUMNS, wire=True).createOrReplaceTempView(WIRE_LINES)
        how = How(tallied=not small, wire=wire)
        crashed: dict[str, str] = {}
        try:
            rows = rows_of(facts, questions(checks, evidence_max, how, apart=facts.of_few, empty=facts.is_empty))
        except PySparkException:
            about, apart = questions_apart(checks, evidence_max, how)
            rows = rows_of(facts, [about])
            for check, query in zip(checks, apart, strict=True):
                try:
                    rows += rows_of(facts, [query])
                except PySparkException as error:
                    crashed[check.name] = first_line(error)
        values = values_of(rows, spark.table("invocations"))
    judged = judged_by(rows, values, checks, run_keys(runs))
    for of_run in judged:
        for name, reason in crashed.items():
            of_run.findings[name].crashed = reason
    return judged


def rows_of(facts: Facts, queries: Sequence[str]) -> Rows:
    """All rows of the queries' results."""
    return [row for rows in facts.each(lambda query: collected(facts.sql(query)), queries) for row in rows]


def collected(answer: DataFrame) -> Rows:
    return [row.asDict() for row in answer.collect()]


def values_of(rows: Rows, invocations: DataFrame) -> dict[tuple[str, str], list[str]]:
    """{(run, operation): values of its records} of the operations that violations name."""
    violations = (msgspec.json.decode(row["details"]) for row in rows if row["kind"] == "violation")
    operations = sorted({details["operation"] for details in violations if "operation" in details})
    if not operations:
        return {}
    invoked = invocations.where(F.col("operation").isin(operations)).select("run", "operation", "value", "records")
    return {(row["run"], row["operation"]): values_in(row["value"], row["records"]) for row in invoked.collect()}


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
