"""Tables of small runs: events, and those derived tables that queries need.

Rows are few, so they lie in the plan, where Spark's optimizer evaluates filters and removes empty tables. Each derived
table is computed once, and comes back as such rows. A table whose pre-test excludes rows has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from audit.check_tables import tables_read
from audit.checks.check_registry import CHECKS
from audit.concurrent_queries import side_by_side
from audit.derived_tables import FLOORS
from audit.event_groups import COLUMNS, RARE_ONES, REST, TABLES
from audit.event_lines import PROBLEM, read_lines
from audit.input import RunDirectory
from audit.line_store import with_family
from audit.log_tables import LOGS
from audit.parsed_events import ParsedEvents
from audit.pretests.part_pretests import may_have_rows
from audit.pretests.pretested_run import PretestedRun
from audit.questions import Part
from audit.states import STATES
from audit.topic_incarnations import OF_LOGS, Lives

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

IN_THE_PLAN_MAX: Final = 2_000
"""Maximum of rows in the plan; more are kept in memory."""

VALUE_COLUMNS: Final = ("run", "operation", "value", "records")
LINES: Final = "lines"
"""View of all lines, as Spark reads them."""
_STAGES: Final[tuple[Mapping[str, str], ...]] = ({"states": STATES, "logs": LOGS}, *FLOORS)
_QUERIES: Final = {table: query for stage in _STAGES for table, query in stage.items()}
_EVENTS: Final = (RARE_ONES, *(table for table in TABLES if table != "operations"), "operations")
"""Tables of events. Operations may be named after their beginnings, in `invocations`."""
_FOR_BIG_RUNS: Final = re.compile(r"--[^\n]*")
_WORD: Final = re.compile(r"\w+")
_SQL_TYPES: Final = {"int64": "BIGINT", "double": "DOUBLE", "string": "STRING", "bool": "BOOLEAN"}
_OF_A_LOG: Final = {RARE_ONES: OF_LOGS, "appends": "true", "watermarks": "true"}
"""{table: whether a row is of its node's log}, where one is"""


class SmallRuns:
    """Tables of `runs` in a session.

    `files`: their events; None: Spark reads the lines, of which some are none. `pretested`: None: every query is asked.
    """

    def __init__(
        self,
        spark: SparkSession,
        runs: Sequence[RunDirectory],
        files: ParsedEvents | None,
        lives: Lives,
        pretested: Sequence[PretestedRun] | None,
    ) -> None:
        self._spark = spark
        self._runs = runs
        self._files = files
        self._lives = lives
        self._pretested = pretested
        self._numbers = count()

    def make(self, parts: Sequence[Part]) -> None:
        """Make the tables that the parts read."""
        wanted = needed(parts)
        if self._files is None or LINES in wanted:
            self._make_lines(keep=self._files is None)
        if self._files is not None:
            self._placed(self._files.tallies).createOrReplaceTempView("tallies")
        for some in (_EVENTS[:-1], _EVENTS[-1:]):
            side_by_side(self._make_events, [table for table in some if table in wanted])
        for stage in _STAGES:
            side_by_side(self._make_derived, [table for table in stage if table in wanted])

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Rows of a query's result."""
        rows: list[dict[str, Any]] = self._planned(query).toArrow().to_pylist()
        return rows

    def values(self, operations: Sequence[str]) -> list[Mapping[str, Any]]:
        """`run`, `operation`, `value` and `records` of these operations."""
        if self._files is None:
            invoked = self._spark.table("invocations").where(F.col("operation").isin([*operations]))
            return [row.asDict() for row in invoked.select(*VALUE_COLUMNS).collect()]
        names = set(operations)
        rows = self._files.tables["invocations"].select([*VALUE_COLUMNS])
        return [row for row in rows.to_pylist() if row["operation"] in names]

    def _planned(self, query: str) -> DataFrame:
        """A query's result.

        A view has its plan analysed once; `SparkSession.sql` would have it done again for the rows.
        """
        view = f"answer_{next(self._numbers)}"
        self._view(view, query)
        return self._spark.table(view)

    def _view(self, name: str, query: str) -> None:
        query = _FOR_BIG_RUNS.sub("", query).replace("/*gather*/", "/*+ COALESCE(1) */")
        self._spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")

    def _make_lines(self, *, keep: bool) -> None:
        lines = with_family(read_lines(self._spark, self._runs, COLUMNS)).coalesce(1)
        if keep:
            lines = lines.localCheckpoint(eager=True).coalesce(1)
        lines.createOrReplaceTempView(LINES)

    def _make_events(self, table: str) -> None:
        if self._files is not None:
            rows = self._placed(self._files.tables[table])
        else:
            columns = TABLES[table][1] if table in TABLES else REST
            rows = self._spark.table(LINES).where((F.col("family") == table) & F.col(PROBLEM).isNull())
            rows = rows.select(*columns)
            if "records" in columns:  # runs older than this field have one record in each
                rows = rows.withColumn("records", F.coalesce("records", F.lit(1)))
        rows = self._named(table, rows)
        if table in ("operations", "reads"):
            rows = rows.withColumn("gone", F.expr(self._lives.gone))
        rows.createOrReplaceTempView(table)

    def _named(self, table: str, rows: DataFrame) -> DataFrame:
        """Rows with each topic's incarnation as name, without its id."""
        if not self._lives.found:
            return rows.drop("topic_id")
        if table != "operations":
            return rows.withColumn("topic", F.expr(self._lives.name(of_logs=_OF_A_LOG.get(table, "")))).drop("topic_id")
        # By its id or else by its beginning.
        begun = self._spark.table("invocations").select("run", "operation", F.col("at_ms").alias("begun_ms"))
        topic = F.expr(self._lives.name("coalesce(begun_ms, at_ms)"))
        return rows.join(begun, ["run", "operation"], "left").withColumn("topic", topic).drop("begun_ms", "topic_id")

    def _make_derived(self, table: str) -> None:
        query = _QUERIES[table]
        if self._pretested is not None and not may_have_rows("table", table, self._pretested):
            self._view(table, f"SELECT * FROM ({query}) LIMIT 0")
            return
        planned = self._planned(query)
        found = planned.toArrow().combine_chunks()
        rows = self._placed(found) if found.num_rows else planned.limit(0)
        if table == "logs" and self._lives.found:
            rows = rows.where(f"NOT {self._lives.gone}")
        rows.createOrReplaceTempView(table)

    def _placed(self, rows: pa.Table) -> DataFrame:
        if not rows.num_rows:
            columns = (f"`{column.name}` {_SQL_TYPES[str(column.type)]}" for column in rows.schema)
            return self._spark.createDataFrame([], ", ".join(columns))
        frame = self._spark.createDataFrame(rows).coalesce(1)
        return frame if rows.num_rows <= IN_THE_PLAN_MAX else frame.localCheckpoint(eager=True).coalesce(1)


def needed(parts: Sequence[Part]) -> set[str]:
    """Tables that the parts read, and those that these are made of."""
    found: set[str] = set()
    unread = [table for part in parts for table in _read(part)]
    while unread:
        table = unread.pop()
        if table not in found:
            found.add(table)
            unread += tables_read(_FOR_BIG_RUNS.sub("", _QUERIES.get(table, "")))
    return found | ({"invocations"} if "operations" in found else set())


def _read(part: Part) -> list[str]:
    """Tables that a part reads; of a check of another author all that it names."""
    query = _FOR_BIG_RUNS.sub("", part.query)
    words = {word.lower() for word in _WORD.findall(query)}
    if part.kind != "about" and part.of not in CHECKS:
        return [table for table in (*_EVENTS, *_QUERIES, LINES) if table in words]
    return [*tables_read(query), *(words & {LINES})]
