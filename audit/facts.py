"""Facts: the tables that checks read, prepared once for all of them (`audit.prepared`).

Events are parsed once and kept: in memory for runs of ordinary size, in Parquet files in a scratch directory for
big ones (`audit.kept_lines`), divided by family, so that a check reads no more than it asks for. Checks see (TABLES):

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
- `lost`, `lost_copies`, `reused_sequences`, `copied`: what was acknowledged and the final leader lacks; what it has
  more than once (`audit.lost`)
- `tallies`: of big runs, how many lines of each kind there are (`audit.tallies`); `disordered`: what may not go
  up as it should (`audit.stretches`), and `falls` of it (`audit.checks.reordered`); `odd_places`: offsets that have to
  be looked at closer (`audit.odd_places`); `replicas`: what befell logs (`audit.logs`)
- `small_isrs`: when leaders took too few replicas for in sync (`audit.states`)
- `settled`: runs that were left in peace, and since when; `lasting`: what lasted in it; `waiting`: who waited for an
  answer; `waited`: of big runs, how many; `promised`: what was acknowledged by all (`audit.settled`)

A topic that was deleted has a name of its own in them, `t#1` (`audit.lives`); `operations` and `reads` say of one of
its records that it is `gone`, and `logs` are of the others.

Order within a node is that of (incarnation, seq).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from audit.checks.log_evidence import UNREADABLE
from audit.families import TABLES
from audit.few_rows import are_few, number_of, placed
from audit.given import DOUBTFUL_TURNS, GROUP_OPERATIONS, LEAPS, LOST_READS
from audit.input import RunDirectory
from audit.kept_lines import with_run, written_columns
from audit.logs import DELETED, LOG_RANGES
from audit.lost import COPIED, LOST, LOST_COPIES, REUSED_SEQUENCES
from audit.offices import OVERLAPS
from audit.questions import WIRE_LINES
from audit.settled import LASTING, PROMISED, SETTLED, WAITING
from audit.side_by_side import side_by_side
from audit.states import SMALL_ISRS
from audit.tuning import tuned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_MAX_BYTES = 8 << 20
"""Runs of less than this together, some 25,000 events, are judged in memory, in one partition: no shuffle, no code is
made. Every check looks at all lines there, so three times as many take longer than in files (docs/audit-cost.md)."""

OF_MANY = frozenset((*TABLES, "lines", "logs", WIRE_LINES))
"""Words in a query that may ask for events that are frequent."""
_WORD = re.compile(r"\w+")

Told = TypeVar("Told")

FLOORS: tuple[dict[str, str], ...] = (
    {"settled": SETTLED, "small_isrs": SMALL_ISRS, "overlaps": OVERLAPS},
    {"deleted": DELETED, "leaps": LEAPS, "group_operations": GROUP_OPERATIONS},
    {
        "lasting": LASTING,
        "log_ranges": LOG_RANGES,
        "lost": LOST,
        "waiting": WAITING,
        "copied": COPIED,
        "lost_reads": LOST_READS,
    },
    {"unreadable": UNREADABLE, "promised": PROMISED, "lost_copies": LOST_COPIES, "doubtful_turns": DOUBTFUL_TURNS},
    {"reused_sequences": REUSED_SEQUENCES},
)
"""{table: its query} of tables with few rows or none, which are made once, whoever asks for them: each floor of what
lies below it, the second beside the first. The logs lie below the third (`audit.prepared`)."""

OF_EVENTS: tuple[tuple[str, ...], ...] = (
    ("lines",),
    ("rest", *(name for name in TABLES if name not in ("operations", "reads"))),
    ("logs", "operations", "reads"),
)
"""Tables of events that are kept of small runs, floor by floor likewise, below FLOORS. Whose record it is that a client
wrote or read is looked up in `appends`, where a topic had more lives than one."""


class Facts(NamedTuple):
    """`runs`: whose they are. `small`: whether they are, together; `rare`: whether what is asked of few rows alone is
    asked as of a small run. `many`: of big runs, tables that are kept and have many rows."""

    spark: SparkSession
    runs: Sequence[RunDirectory]
    small: bool
    rare: bool
    many: set[str]

    def sql(self, query: str) -> DataFrame:
        """A query over the tables. `/*gather*/` after SELECT: bring what was united into one partition, for small
        runs; `/*spread(columns)*/`: divide it by those columns, for big runs; `/*few(name)*/`: that side of a join is
        small whatever the size of the run; `--big` before a line: only for big runs."""
        small = self.small or self.of_few(query)
        gather = "/*+ COALESCE(1) */" if small else ""
        spread = "" if small else r"/*+ REPARTITION(\1) */"

        def few(side: re.Match[str]) -> str:
            return "" if small or side[1] in self.many else f"/*+ BROADCAST({side[1]}) */"

        query = re.sub(r"/\*few\((\w+)\)\*/", few, query.replace("/*gather*/", gather))
        query = re.sub(r"/\*spread\(([\w, ]+)\)\*/", spread, query)
        return self.spark.sql(query if self.small else query.replace("--big ", ""))

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
        of_rest, ground, *others = FLOORS
        floors = (*OF_EVENTS, (*of_rest, *ground), *others)
        return [[self.sql(f"SELECT count(*) FROM {table}") for table in floor] for floor in floors]

    def keep(self, tables: Mapping[str, str], in_files: Mapping[str, str] = MappingProxyType({})) -> None:
        """The rows of each query as a table; of big runs they are made now, and written to where `in_files` says."""

        def made(table: str) -> tuple[DataFrame, int]:
            rows = self.sql(tables[table])
            if self.small:
                return in_memory(rows), -1
            if table in in_files:
                return _written(rows, in_files[table], self.runs), -1
            # In as many parts as it comes in: one task alone would have what it joins with in memory, of all parts.
            rows = rows.localCheckpoint(eager=False)
            return rows, number_of(rows)

        names = {query: table for table, query in tables.items()}
        told = self.each(lambda query: made(names[query]), [*names])
        for table, (rows, number) in zip(names.values(), told, strict=True):
            if not are_few(number):
                self.many.add(table)
            (rows if number < 0 else placed(rows, number)).createOrReplaceTempView(table)


def in_memory(rows: DataFrame) -> DataFrame:
    """`rows` in one partition, computed when first asked for, and then kept; its plan is cut off here.

    What several queries ask for at once, and nobody before, can make Spark's scheduler wait for itself for ever: one
    thread marks it as kept while another looks where it is. So somebody asks before: `Facts.keep`, `Facts.makers`.
    """
    return rows.coalesce(1).localCheckpoint(eager=False).coalesce(1)


def _written(rows: DataFrame, path: str, runs: Sequence[RunDirectory]) -> DataFrame:
    """The name of a single run is not written; texts of few values are, once each."""
    kept = rows.select(*written_columns(rows.columns, runs))
    texts = {f"parquet.enable.dictionary#{name}": "true" for name in ("run", "node", "topic")}
    kept.write.options(**texts).mode("overwrite").parquet(path)
    return with_run(rows.sparkSession.read.schema(kept.schema).parquet(path), runs).select(*rows.columns)
