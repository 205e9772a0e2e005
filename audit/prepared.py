"""Builds the tables of `audit.table_catalog` for big runs, from the cache of their lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from audit.blocks import RARE_COLUMN
from audit.checks.reordered import FALLS
from audit.derived_tables import FLOORS
from audit.empty_queries import Known
from audit.event_counts import OF_LEFT as TALLIES_OF_LEFT
from audit.event_groups import FREQUENT, RARE, REST, TABLES
from audit.event_lines import PROBLEM, spark_schema
from audit.input import RunDirectory
from audit.line_store import Kept
from audit.log_tables import LOGS, LOGS_OF_BIG, REPLICAS
from audit.monotonic_runs import DISORDERED, OF_BLOCKS
from audit.monotonic_runs import OF_LEFT as STRETCHES_OF_LEFT
from audit.settled_tables import WAITED
from audit.small_tables import are_few, number_of, placed
from audit.states import STATES
from audit.suspect_offsets import ODD_PLACES
from audit.table_catalog import Facts
from audit.topic_incarnations import OF_LOGS, Lives, lives_in_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OF_A_LOG = {"appends": "true", "watermarks": "true"}
"""{table: whether a row is of its node's log}, where one is"""


def prepare(spark: SparkSession, runs: Sequence[RunDirectory], kept: Kept) -> Facts:
    """Make the tables, which are views of the session from now on.

    `kept`: the lines of `runs`, beside which data lies that may not fit in memory.
    """
    rare = F.from_json(RARE_COLUMN, spark_schema(RARE)).alias("rare")
    rest = _of_family(kept.lines, "rest").select(*FREQUENT, rare).select(*FREQUENT, "rare.*")
    rest = rest.localCheckpoint(eager=False)
    number = number_of(rest)
    facts = Facts(spark, runs, rare=are_few(number), many=set(), known=Known())
    rest = placed(rest, number)
    lives = lives_in_rows(spark, rest)
    kept.lines.createOrReplaceTempView("lines")
    _sum_up(facts, kept)
    facts.learn_events("tallies")
    _open(facts, kept.lines, rest, lives, families=kept.families)
    of_rest, ground, of_logs, *others = FLOORS
    facts.keep({"replicas": REPLICAS, **of_rest})
    ground = {"disordered": DISORDERED, "odd_places": ODD_PLACES, "waited": WAITED, **ground}
    if spark.table("replicas").where("cut").head(1):
        facts.keep({"cut_logs": LOGS, **ground}, {"cut_logs": f"{kept.path}/logs"})
    else:
        facts.sql(LOGS).limit(0).createOrReplaceTempView("cut_logs")
        facts.keep(ground)
    facts.note_empty("logs", LOGS_OF_BIG)
    _without_gone(facts.sql(LOGS_OF_BIG), lives).createOrReplaceTempView("logs")
    facts.keep({"falls": FALLS, **of_logs})
    for floor in others:
        facts.keep(floor)
    return facts


def _open(
    facts: Facts,
    lines: DataFrame,
    rest: DataFrame,
    lives: Lives,
    *,
    families: frozenset[str] = frozenset(TABLES),
) -> None:
    """Make the tables of events. `families`: those present."""
    _named(rest.select(*REST), lives, OF_LOGS).createOrReplaceTempView("rest")
    for table, (_, columns) in TABLES.items():
        rows = _of_family(lines, table).select(*columns)
        if "records" in columns:  # runs older than this field have one record in each
            rows = rows.withColumn("records", F.coalesce("records", F.lit(1)))
        if table not in families:
            rows = rows.limit(0)  # so that Spark plans without its lines
        of_a_log = _OF_A_LOG.get(table, "")
        rows = _operations(lines, rows, lives) if table == "operations" else _named(rows, lives, of_a_log)
        if table in ("operations", "reads"):
            rows = rows.withColumn("gone", F.expr(lives.gone))
        rows.createOrReplaceTempView(table)
    facts.note_empty("states", STATES)
    facts.sql(STATES).createOrReplaceTempView("states")


def _sum_up(facts: Facts, kept: Kept) -> None:
    """Make the views `tallies` and `stretches` from the sums of both readers."""
    sums: list[tuple[DataFrame, DataFrame]] = []
    if kept.sums is not None:
        tallies, blocks = kept.sums
        blocks.createOrReplaceTempView("blocks")
        sums.append((tallies, facts.sql(OF_BLOCKS)))
    if kept.left is not None:
        kept.left.createOrReplaceTempView("left_lines")
        sums.append((facts.sql(TALLIES_OF_LEFT), facts.sql(STRETCHES_OF_LEFT)))
        facts.many.update(("tallies", "stretches"))
    for name, parts in zip(("tallies", "stretches"), zip(*sums, strict=True), strict=True):
        reduce(lambda all_of, more: all_of.unionByName(more), parts).createOrReplaceTempView(name)


def _without_gone(logs: DataFrame, lives: Lives) -> DataFrame:
    return logs.where(f"NOT {lives.gone}") if lives.found else logs


def _named(rows: DataFrame, lives: Lives, of_logs: str = "") -> DataFrame:
    """Rows with each topic's incarnation as name, without its id.

    `of_logs`: as `Lives.name` takes it.
    """
    named = rows.withColumn("topic", F.expr(lives.name(of_logs=of_logs))) if lives.found else rows
    return named.drop("topic_id")


def _operations(lines: DataFrame, rows: DataFrame, lives: Lives) -> DataFrame:
    """Operations with their topic's incarnation, by its id or else by their beginning."""
    if not lives.found:
        return rows.drop("topic_id")
    invoked = _of_family(lines, "invocations").select("run", "operation", F.col("at_ms").alias("begun_ms"))
    rows = rows.join(invoked, ["run", "operation"], "left")
    return rows.withColumn("topic", F.expr(lives.name("coalesce(begun_ms, at_ms)"))).drop("begun_ms", "topic_id")


def _of_family(lines: DataFrame, family: str) -> DataFrame:
    return lines.where((F.col("family") == family) & F.col(PROBLEM).isNull())
