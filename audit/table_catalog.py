"""Tables that checks read, prepared once for all of them.

Events are parsed once: tables of small runs lie in Spark's plans (`audit.small_runs`). Those of big runs lie in Parquet
files in a scratch directory (`audit.line_store`), divided by family, so that a check reads only what it needs
(`audit.prepared`). `audit.check_tables` has the
meaning of each table that checks see. These make the derived ones: `audit.log_tables`, `audit.checks.log_evidence`,
`audit.leadership_terms`, `audit.states`, `audit.consumer_tables`, `audit.lost`, `audit.settled_tables`. Of big runs
there are also `tallies` (`audit.event_counts`), `disordered` (`audit.monotonic_runs`), `falls`
(`audit.checks.reordered`), `odd_places` (`audit.suspect_offsets`) and `replicas` (`audit.log_tables`).

A deleted topic has a name of its own in them, `t#1` (`audit.topic_incarnations`); `operations` and `reads` have `gone`
for its records, and `logs` are of the others.

Order within a node is that of (incarnation, seq).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from audit.concurrent_queries import side_by_side
from audit.empty_queries import EVENT_COLUMNS, Known, is_empty
from audit.event_groups import FAMILY_OF, RARE_ONES, TABLES
from audit.input import RunDirectory
from audit.line_store import with_run, written_columns
from audit.questions import WIRE_LINES
from audit.small_tables import are_few, number_of, placed
from audit.tuning import tuned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OF_MANY = frozenset((*TABLES, "lines", "logs", WIRE_LINES))
"""Words of a query that may read frequent events."""
_WORD = re.compile(r"\w+")

Result = TypeVar("Result")

class Facts(NamedTuple):
    """The prepared tables of big runs.

    `runs`: their runs. `rare`: whether queries of few rows alone are run as for a small run. `many`: kept tables with
    many rows. `known`: what is known of their rows.
    """

    spark: SparkSession
    runs: Sequence[RunDirectory]
    rare: bool
    many: set[str]
    known: Known

    def sql(self, query: str) -> DataFrame:
        """A query over the tables, with these hints.

        `/*gather*/` after SELECT: brings a union into one partition, for few rows. `/*spread(columns)*/`: divides it
        by those columns, for many. `/*few(name)*/`: that side of a join is small. `--big` before a line: for big runs
        only.
        """
        small = self.of_few(query)
        gather = "/*+ COALESCE(1) */" if small else ""
        spread = "" if small else r"/*+ REPARTITION(\1) */"

        def few(side: re.Match[str]) -> str:
            return "" if small or side[1] in self.many else f"/*+ BROADCAST({side[1]}) */"

        query = re.sub(r"/\*few\((\w+)\)\*/", few, query.replace("/*gather*/", gather))
        query = re.sub(r"/\*spread\(([\w, ]+)\)\*/", spread, query)
        return self.spark.sql(query.replace("--big ", ""))

    def is_empty(self, query: str) -> bool:
        """Whether the query provably has no row."""
        return is_empty(query.replace("--big ", ""), self.known)

    def note_empty(self, table: str, query: str) -> None:
        """Note that the table has no row, if its query provably has none."""
        if self.is_empty(query):
            self.known.empty.add(table)

    def learn_events(self, lines: str) -> None:
        """Learn which events the tables of events have from `lines`, a table with their kinds.

        A broken line is in no such table.
        """
        columns = ", ".join(EVENT_COLUMNS)
        rows = self.spark.sql(f"SELECT DISTINCT {columns} FROM {lines} WHERE problem IS NULL").collect()
        for table in (RARE_ONES, *TABLES):
            self.known.events[table] = frozenset(
                tuple(row) for row in rows if FAMILY_OF.get(row["event"], RARE_ONES) == table
            )

    def of_few(self, query: str) -> bool:
        """Whether a query of a big run reads only tables of few rows, which lie in one partition."""
        return self.rare and not (OF_MANY | self.many).intersection(_WORD.findall(query.lower()))

    def each(self, ask: Callable[[str], Result], queries: Sequence[str]) -> list[Result]:
        """Results of `ask` for each query, in order, some at once, with Spark tuned for each."""
        of_few = [query for query in queries if self.of_few(query)]
        results: dict[str, Result] = {}
        if of_few:
            with tuned(self.spark, small=True):
                results |= zip(of_few, side_by_side(ask, of_few), strict=True)
        others = [query for query in queries if query not in results]
        results |= zip(others, side_by_side(ask, others), strict=True)
        return [results[query] for query in queries]

    def keep(self, tables: Mapping[str, str], in_files: Mapping[str, str] = MappingProxyType({})) -> None:
        """Make the rows of each query a table. They lie in files if `in_files` has a path."""

        def made(table: str) -> tuple[DataFrame, int]:
            rows = self.sql(tables[table])
            if self.is_empty(tables[table]):
                return rows.sparkSession.createDataFrame([], rows.schema), 0
            if table in in_files:
                return _written(rows, in_files[table], self.runs), -1
            # The rows keep their partitions: one task would need the join's other side of all of them in memory.
            rows = rows.localCheckpoint(eager=False)
            return rows, number_of(rows)

        names = {query: table for table, query in tables.items()}
        results = self.each(lambda query: made(names[query]), [*names])
        for table, (rows, number) in zip(names.values(), results, strict=True):
            if number == 0:
                self.known.empty.add(table)
            if not are_few(number):
                self.many.add(table)
            (rows if number < 0 else placed(rows, number)).createOrReplaceTempView(table)


def _written(rows: DataFrame, path: str, runs: Sequence[RunDirectory]) -> DataFrame:
    """Write a table without the name of a single run, some texts dictionary-encoded."""
    kept = rows.select(*written_columns(rows.columns, runs))
    texts = {f"parquet.enable.dictionary#{name}": "true" for name in ("run", "node", "topic")}
    kept.write.options(**texts).mode("overwrite").parquet(path)
    return with_run(rows.sparkSession.read.schema(kept.schema).parquet(path), runs).select(*rows.columns)
