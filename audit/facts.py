"""Facts: the tables that checks read, prepared once for all of them.

Events are parsed once and kept: in memory for runs of ordinary size, in Parquet files in a scratch directory for
big ones, divided by family, so that a check reads no more than it asks for. Checks see (TABLES):

- `appends`: batch_appended; `watermarks`: high_watermark_moved; `operations`: operation_ended; `reads`: records_read;
  `invocations`: operation_invoked
- `requests`: attempt_sent; `attempts`: attempt_ended
- `rest`: every event that is rare: roles, controllers, nodes, faults, steps, ...
- `logs`: what every replica's log holds at the end; `log_ranges`: the same by replica and leader epoch, in numbers;
  `deleted`: what was deleted on request (`audit.logs`)
- `unreadable`: logs that their events do not tell (`audit.checks.log_evidence`)
- `overlaps`: windows in which two nodes held one office (`audit.offices`)
- `states`: what the session service committed about partitions (`audit.states`)
- what clients were given: `leaps`, `lost_reads`, `doubtful_turns`; what their groups committed: `group_operations`
  (`audit.given`)
- `lost`, `lost_copies`, `copied`: what was acknowledged and the final leader lacks; what it has more than once
  (`audit.lost`)
- `tallies`: of big runs, how many lines of each kind there are (`audit.tallies`)
- `small_isrs`: when leaders took too few replicas for in sync (`audit.states`)
- `settled`: runs that were left in peace, and since when; `lasting`: what lasted in it; `waiting`: who waited for an
  answer; `promised`: what was acknowledged by all (`audit.settled`)

A topic that was deleted has a name of its own in them, `t#1` (`audit.lives`); `operations` and `reads` say of one of
its records that it is `gone`, and `logs` are of the others.

Order within a node is that of (incarnation, seq).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pyspark.sql import functions as F

from audit.blocks import RARE_COLUMN
from audit.checks.log_evidence import UNREADABLE
from audit.events import PROBLEM, spark_schema
from audit.families import FREQUENT, RARE, REST, TABLES
from audit.given import DOUBTFUL_TURNS, GROUP_OPERATIONS, LEAPS, LOST_READS
from audit.input import RunDirectory
from audit.kept_lines import with_family, with_run, written_columns
from audit.lives import OF_LOGS, WRITTEN_IN, Lives, lives_in_files, lives_in_rows
from audit.logs import DELETED, LOG_RANGES, LOGS
from audit.lost import COPIED, LOST, LOST_COPIES
from audit.offices import OVERLAPS
from audit.questions import WIRE_LINES
from audit.settled import LASTING, PROMISED, SETTLED, WAITING
from audit.side_by_side import side_by_side
from audit.states import SMALL_ISRS, STATES
from audit.tallies import TALLIES
from audit.tuning import tuned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_MAX_BYTES = 8 << 20
"""Runs of less than this together, some 25,000 events, are judged in memory, in one partition: no shuffle, no code is
made. Every check looks at all lines there, so three times as many take longer than in files (docs/audit-cost.md)."""

FEW_MAX = 100_000
"""So many rows of a big run lie in one partition, rare events or a table's: what is asked of them alone moves none of
them, and no code is made for it."""

OF_MANY = frozenset((*TABLES, "lines", "logs", WIRE_LINES))
"""Words in a query that may ask for events that are frequent."""
_WORD = re.compile(r"\w+")

Told = TypeVar("Told")

_OF_A_LOG = {"appends": "true", "watermarks": "true"}
"""{table: whether a row is of its node's log}, where one is"""

FLOORS: tuple[dict[str, str], ...] = (
    {
        "log_ranges": LOG_RANGES,
        "settled": SETTLED,
        "small_isrs": SMALL_ISRS,
        "overlaps": OVERLAPS,
        "deleted": DELETED,
        "leaps": LEAPS,
        "group_operations": GROUP_OPERATIONS,
        "copied": COPIED,
    },
    {"unreadable": UNREADABLE, "lasting": LASTING, "lost_reads": LOST_READS, "waiting": WAITING, "lost": LOST},
    {"promised": PROMISED, "doubtful_turns": DOUBTFUL_TURNS, "lost_copies": LOST_COPIES},
)
"""{table: its query} of tables with few rows or none, which are made once, whoever asks for them: each floor of what
lies below it."""


class Facts(NamedTuple):
    """`lines`: every line that was kept, with its `family` and, if it is broken, its PROBLEM. `rare`: whether what is
    asked of few rows alone is asked as of a small run. `many`: of big runs, tables of FLOORS that have many rows."""

    spark: SparkSession
    lines: DataFrame
    small: bool
    rare: bool
    many: set[str]

    def sql(self, query: str) -> DataFrame:
        """A query over the tables. `/*gather*/` after SELECT: bring what was united into one partition, for small
        runs; `/*spread(columns)*/`: divide it by those columns, for big runs; `/*few(name)*/`: that side of a join is
        small whatever the size of the run; `--big` before a line: only for big runs, where it saves work."""
        small = self.small or self.of_few(query)
        gather = "/*+ COALESCE(1) */" if small else ""
        spread = "" if small else r"/*+ REPARTITION(\1) */"

        def few(side: re.Match[str]) -> str:
            return "" if small or side[1] in self.many else f"/*+ BROADCAST({side[1]}) */"

        query = re.sub(r"/\*few\((\w+)\)\*/", few, query.replace("/*gather*/", gather))
        query = re.sub(r"/\*spread\(([\w, ]+)\)\*/", spread, query)
        return self.spark.sql(query if small else query.replace("--big ", ""))

    def of_few(self, query: str) -> bool:
        """Whether it is asked of a big run, and of tables of few rows alone, which lie in one partition."""
        return self.rare and not (OF_MANY | self.many).intersection(_WORD.findall(query.lower()))

    def each(self, ask: Callable[[str], Told], queries: Sequence[str]) -> list[Told]:
        """What `ask` tells of each, in their order, Spark being tuned for it; some at once."""
        of_few = [query for query in queries if self.of_few(query)]
        told: dict[str, Told] = {}
        if of_few:
            with tuned(self.spark, small=True):
                told |= zip(of_few, side_by_side(ask, of_few), strict=True)
        others = [query for query in queries if query not in told]
        told |= zip(others, side_by_side(ask, others), strict=True)
        return [told[query] for query in queries]

    def makers(self) -> list[list[DataFrame]]:
        """To be asked, list by list, before anybody asks for anything of a small run: each makes a table that is kept
        in memory, when those are there that it is made of."""
        floors = (("lines",), ("logs",), *FLOORS)
        return [[self.sql(f"SELECT count(*) FROM {table}") for table in floor] for floor in floors]

    def keep(self, tables: Mapping[str, str]) -> None:
        """The rows of each query as a table; of big runs they are made now."""

        def made(query: str) -> tuple[DataFrame, int]:
            if self.small:
                return _in_memory(self.sql(query)), 0
            # In as many parts as it comes in: one task alone would have what it joins with in memory, of all parts.
            rows = self.sql(query).localCheckpoint(eager=False)
            return rows, rows.count()

        for table, (rows, number) in zip(tables, self.each(made, [*tables.values()]), strict=True):
            if number > FEW_MAX:
                self.many.add(table)
            elif not self.small:
                rows = rows.coalesce(1)
            rows.createOrReplaceTempView(table)


def prepare(spark: SparkSession, runs: Sequence[RunDirectory], lines: DataFrame, scratch: str | None) -> Facts:
    """Make the tables, which are views of the session from now on, of the runs' `lines`.

    `scratch`: a directory that all executors reach, for what may not fit in memory; their lines are in files already
    (`audit.kept_lines`). None: the runs are small, and nothing is read before somebody asks; the lines have COLUMNS.
    """
    if scratch is None:
        lines = _in_memory(with_family(lines))
    lines.createOrReplaceTempView("lines")
    rest, few = _of_family(lines, "rest"), False
    if scratch is not None:
        rare = F.from_json(RARE_COLUMN, spark_schema(RARE)).alias("rare")
        rest = rest.select(*FREQUENT, rare).select(*FREQUENT, "rare.*").localCheckpoint(eager=False)
        few = rest.count() <= FEW_MAX  # which keeps them
        rest = rest.coalesce(1) if few else rest
    facts = Facts(spark, lines, small=scratch is None, rare=few, many=set())
    lives = lives_in_files(runs) if scratch is None else lives_in_rows(spark, rest)
    _named(rest.select(*REST), lives, OF_LOGS).createOrReplaceTempView("rest")
    for table, (_, columns) in TABLES.items():
        rows = _of_family(lines, table).select(*columns)
        of_a_log = _OF_A_LOG.get(table, "")
        rows = _operations(facts, rows, lives) if table == "operations" else _named(rows, lives, of_a_log)
        if table == "reads":
            rows = _written_in(facts, rows, lives.again, "base_offset", "r.topic") if lives.told else rows
            rows = rows.withColumn("gone", F.expr(lives.gone))
        rows.createOrReplaceTempView(table)
    logs = facts.sql(LOGS)
    if lives.told:
        logs = logs.where(f"NOT {lives.gone}")
    logs = _in_memory(logs) if scratch is None else _in_files(logs, f"{scratch}/logs", runs)
    logs.createOrReplaceTempView("logs")
    facts.sql(STATES).createOrReplaceTempView("states")
    ground, *others = FLOORS
    for floor in (ground if facts.small else {"tallies": TALLIES, **ground}, *others):
        facts.keep(floor)
    return facts


def _named(rows: DataFrame, lives: Lives, of_logs: str = "") -> DataFrame:
    """With each topic called after its life. `of_logs`: as `Lives.name` takes it."""
    return rows.withColumn("topic", F.expr(lives.name(of_logs=of_logs))) if lives.told else rows


def _operations(facts: Facts, rows: DataFrame, lives: Lives) -> DataFrame:
    """The same of operations, by when they began, or where a later life took what they wrote; `gone`."""
    if not lives.told:
        return rows.withColumn("gone", F.lit(False))
    invoked = _of_family(facts.lines, "invocations").select("run", "operation", F.col("at_ms").alias("begun_ms"))
    rows = rows.join(invoked, ["run", "operation"], "left")
    began = F.expr(lives.name("coalesce(begun_ms, at_ms)"))
    rows = rows.withColumns({"begun_as": began, "topic": F.expr(lives.name())}).drop("begun_ms")
    rows = _written_in(facts, rows, "r.begun_as != r.topic", "offset", "r.begun_as").drop("begun_as")
    return rows.withColumn("gone", F.expr(lives.gone))


def _written_in(facts: Facts, rows: DataFrame, doubtful: str, offset: str, otherwise: str) -> DataFrame:
    """`rows` as WRITTEN_IN has them."""
    rows.createOrReplaceTempView("rows_of_lives")
    return facts.sql(WRITTEN_IN.format(rows="rows_of_lives", doubtful=doubtful, offset=offset, otherwise=otherwise))


def _of_family(lines: DataFrame, family: str) -> DataFrame:
    return lines.where((F.col("family") == family) & F.col(PROBLEM).isNull())


def _in_files(logs: DataFrame, path: str, runs: Sequence[RunDirectory]) -> DataFrame:
    """The name of a single run is not written; texts of few values are, once each."""
    kept = logs.select(*written_columns(logs.columns, runs))
    texts = {f"parquet.enable.dictionary#{name}": "true" for name in ("run", "node", "topic")}
    kept.write.options(**texts).mode("overwrite").parquet(path)
    return with_run(logs.sparkSession.read.schema(kept.schema).parquet(path), runs).select(*logs.columns)


def _in_memory(rows: DataFrame) -> DataFrame:
    """`rows` in one partition, computed when first asked for, and then kept; its plan is cut off here.

    What several queries ask for at once, and nobody before, can make Spark's scheduler wait for itself for ever: one
    thread marks it as kept while another looks where it is. So somebody asks before: `Facts.keep`, `Facts.makers`.
    """
    return rows.coalesce(1).localCheckpoint(eager=False).coalesce(1)
