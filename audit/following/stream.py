"""Spark's structured stream of a growing run: pieces of files in, events out.

Broken lines are counted.

Spark's file source takes whole new files and never reads one again, so appended lines reach it as files of their own:
the lines of one `tail` become one file, each behind the name of its file. Spark parses them, finds lines that are no
events (`audit.event_lines.problem_of`, as for a whole run), and returns the followed events. (Spark's Python Data
Source would allow byte positions as offsets. It needs PyArrow, 170 MiB on disk, and ten processes of Python beside the
virtual machine, 0.6 GiB; a step took twice as long.)

The events lie in Spark's memory sink, a table of the query; a function of ours for each batch would run in another
process (Spark Connect). Spark keeps that table, and a list of all files that it ever took. So another query takes over
after QUERY_STEPS steps or QUERY_ROWS rows, and nothing grows with the length of the run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from pyspark.sql import Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T

from audit.event_groups import COLUMNS
from audit.event_lines import FILE, LINE_SHOWN_MAX, LONGEST_LINE, PROBLEM, UNPARSED, problem_of, spark_schema
from audit.following.event import FOLLOWED, PATHS, PRODUCES, Event
from audit.following.tail import Piece
from audit.input import RunDirectory
from emulator.regular_files import write_whole
from protocol.events import ENVELOPE
from protocol.events.event_parsing import LINE_BYTES_MAX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

QUERY_STEPS: Final = 500
QUERY_ROWS: Final = 50_000
LOOK: Final = "100 milliseconds"
"""Interval at which Spark looks for a file; `step` waits until it is processed."""
REASONS_MAX: Final = 20
"""Maximum of reasons per step; the most frequent first."""
NAME_SEPARATOR: Final = "\t"
PIECE: Final = "_piece"
"""Column with the name of the step's file."""
STREAM_SETTINGS: Final = {
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.stopTimeout": "10s",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
}


class Broken(msgspec.Struct, frozen=True):
    """Lines of one file that are no events, for one reason.

    `line`: the beginning of one of them.
    """

    file: str
    reason: str
    lines: int
    line: str


class Read(msgspec.Struct, frozen=True):
    """Result of a step. `broken_more`: count of lines in none of `broken`."""

    events: list[Event]
    broken: list[Broken]
    broken_more: int = 0


class Stream:
    """The stream: `step` passes pieces to the query and waits for it.

    `queries`: count of queries so far.
    """

    def __init__(self, spark: SparkSession, run: RunDirectory, scratch: Path) -> None:
        self._spark = spark
        self._run = run
        self._scratch = scratch
        self._query: StreamingQuery | None = None
        self.queries = 0
        self._steps = 0
        self._rows = 0
        """Rows in the query's table."""

    def warm_up(self) -> None:
        """Make the first step, which takes seconds, without lines."""
        self.step([Piece("", b"\n")])

    def step(self, pieces: Sequence[Piece]) -> Read:
        """Process pieces. Raises Spark's errors."""
        if self._query is None or self._steps >= QUERY_STEPS or self._rows >= QUERY_ROWS:
            self._begin()
        assert self._query is not None
        self._steps += 1
        piece = f"{self._steps}.lines"
        write_whole(self._pieces / piece, b"".join(map(_named, pieces)))
        self._query.processAllAvailable()
        return self._read(self._spark.table(self._table).where(F.col(PIECE) == piece))

    def close(self) -> None:
        """Stop the query. Idempotent."""
        if self._query is not None:
            query, self._query = self._query, None
            query.stop()
            self._spark.catalog.dropTempView(self._table)
            shutil.rmtree(self._own, ignore_errors=True)

    @property
    def _own(self) -> Path:
        return self._scratch / f"query-{self.queries}"

    @property
    def _table(self) -> str:
        return f"followed_{self.queries}"

    @property
    def _pieces(self) -> Path:
        return self._own / "pieces"

    def _begin(self) -> None:
        self.close()
        self.queries += 1
        self._steps = self._rows = 0
        self._pieces.mkdir(parents=True)
        text = (
            self._spark.readStream.format("text")
            .schema("value STRING")
            .option("lineSep", "\n")
            .option(LONGEST_LINE, LINE_BYTES_MAX * 2)
            .option("cleanSource", "delete")
            .load(str(self._pieces))
            .select("value", F.col("_metadata.file_name").alias(PIECE))
        )
        self._query = (
            followed(parsed(text, self._run))
            .writeStream.format("memory")
            .queryName(self._table)
            .option("checkpointLocation", str(self._own / "checkpoint"))
            .trigger(processingTime=LOOK)
            .start()
        )

    def _read(self, lines: DataFrame) -> Read:
        """Events of a step, and the count of broken lines, as a rule 0, in one pass."""
        about = Observation()
        observed = lines.observe(about, F.count_if(F.col(PROBLEM).isNotNull()).alias("broken"))
        rows = observed.where(F.col(PROBLEM).isNull()).select(*Event._fields).collect()
        events, total = [Event._make(row) for row in rows], about.get["broken"]
        broken = self._broken(lines) if total else []
        self._rows += len(events) + total
        return Read(events, broken, total - sum(one.lines for one in broken))

    @staticmethod
    def _broken(lines: DataFrame) -> list[Broken]:
        by_reason = lines.where(F.col(PROBLEM).isNotNull()).groupBy(FILE, PROBLEM)
        counted = by_reason.agg(F.count("*").alias("lines"), F.min("_line").alias("line"))
        most = counted.orderBy(F.col("lines").desc(), FILE, PROBLEM).limit(REASONS_MAX).collect()
        return [Broken(row[FILE], row[PROBLEM], row["lines"], row["line"]) for row in most]


def parsed(text: DataFrame, run: RunDirectory) -> DataFrame:
    """Each line that `_named` wrote as COLUMNS, FILE, PROBLEM, PIECE and its text."""
    schema = spark_schema(dict.fromkeys((*ENVELOPE, *COLUMNS))).add(UNPARSED, T.StringType())
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNPARSED}
    parts = text.select(
        PIECE,
        F.substring_index("value", NAME_SEPARATOR, 1).alias(FILE),
        F.expr(f"substr(value, instr(value, '{NAME_SEPARATOR}') + 1)").alias("_line"),
    ).where(F.trim("_line") != "")
    lines = parts.select(PIECE, FILE, "_line", F.from_json("_line", schema, options).alias("parsed"))
    shown = F.expr(f"left(make_valid_utf8(_line), {LINE_SHOWN_MAX})").alias("_line")
    lines = lines.select(PIECE, FILE, shown, "parsed.*", F.expr("is_valid_utf8(_line)").alias("_valid"))
    # From a text, Spark parses leniently what is not UTF-8.
    lines = lines.withColumn(UNPARSED, F.expr(f"IF(_valid, `{UNPARSED}`, _line)"))
    return lines.withColumn(PROBLEM, problem_of(lines, [run]))


def followed(lines: DataFrame) -> DataFrame:
    """The followed events of the lines, and broken lines."""
    produces = ~F.col("event").isin(*PRODUCES) | (F.col("kind") == "produce")
    paths = (F.col("event") != "znode_changed") | F.col("path").rlike(PATHS)
    wanted = F.col(PROBLEM).isNotNull() | (F.col("event").isin(*FOLLOWED) & produces & paths)
    return lines.where(wanted).select(*Event._fields, PIECE, FILE, "_line", PROBLEM)


def _named(piece: Piece) -> bytes:
    """Lines of a piece, each behind the name of its file."""
    name = piece.file.encode() + NAME_SEPARATOR.encode()
    return name + piece.data[:-1].replace(b"\n", b"\n" + name) + b"\n"


@contextmanager
def streaming(spark: SparkSession, run: RunDirectory, scratch: Path) -> Iterator[Stream]:
    """A stream of `run` that ends with the block."""
    stream = Stream(spark, run, scratch)
    try:
        yield stream
    finally:
        stream.close()
