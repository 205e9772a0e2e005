"""Events as Spark reads them: the schema, and lines that are not events.

One flat table; its columns are the fields of `protocol.events`, so the schema has one source. A line is put in
quarantine, with the reason, when it is not JSON of the right types, is of another format, names no event that we
know, or lacks a part of the envelope. It is counted, kept in RUN/quarantine.jsonl, and makes the verdict unknown:
what it would have said is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from pyspark.sql import functions as F
from pyspark.sql import types as T

from audit.input import RunDirectory
from protocol.events import ENVELOPE, EVENT_FORMAT, EVENTS, FIELDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SPARK_TYPES: dict[type, T.DataType] = {
    int: T.LongType(),
    float: T.DoubleType(),
    str: T.StringType(),
    bool: T.BooleanType(),
}

UNPARSED = "_unparsed"
"""The text of a line that is no JSON of the right types; null for every other line."""


PROBLEM = "problem"
"""Why a line is no event; null: it is one."""

ENVELOPE_NEEDED = ("node", "incarnation", "seq", "at_ms")


def spark_schema(fields: Iterable[str] = FIELDS) -> T.StructType:
    """The columns `fields`, all nullable, with their types from `protocol.events.FIELDS`."""
    return T.StructType([T.StructField(name, SPARK_TYPES[FIELDS[name]]) for name in fields])


EVENT_SCHEMA = spark_schema()


def read_lines(
    spark: SparkSession, runs: Sequence[RunDirectory], columns: Sequence[str] = tuple(FIELDS), *, wire: bool = False
) -> DataFrame:
    """Every line of the runs' files as `columns`, `run` (its key, see `run_key`) and PROBLEM.

    `wire`: the wire level's files instead of the others. Only `columns` are parsed; the envelope always is.
    """
    wanted = dict.fromkeys((*ENVELOPE, *columns))
    schema = spark_schema(wanted).add(UNPARSED, T.StringType())
    paths = [path for run in runs for path in run.paths(wire=wire)]
    if not paths:
        return spark.createDataFrame([], schema).select(*columns, F.lit(None).cast("string").alias(PROBLEM))
    lines = (
        spark.read.schema(schema)
        .option("mode", "PERMISSIVE")
        .option("columnNameOfCorruptRecord", UNPARSED)
        .json(paths)
        .withColumn("run", _run_column(runs))
    )
    return lines.select(*columns, problem_of(lines).alias(PROBLEM))


def read_events(spark: SparkSession, runs: Sequence[RunDirectory]) -> DataFrame:
    """Every event of every level with all its fields: what the views show."""
    both = [read_lines(spark, runs, wire=wire) for wire in (False, True) if any(r.paths(wire=wire) for r in runs)]
    lines = both[0] if len(both) == 1 else both[0].unionByName(both[1])
    return lines.where(F.col(PROBLEM).isNull()).drop(PROBLEM)


def read_quarantine(spark: SparkSession, runs: Sequence[RunDirectory]) -> DataFrame:
    """Lines that are no events: `run`, `file` (its name), `reason`, `line` (the text), torn lines included.

    Reads the files once more, as text: a line that is JSON but no event has lost its text in `read_lines`.
    """
    paths = [path for run in runs for wire in (False, True) for path in run.paths(wire=wire)]
    schema = spark_schema(FIELDS).add(UNPARSED, T.StringType())
    parsed = F.from_json("value", schema, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNPARSED})
    text = spark.read.text(paths).where(F.trim("value") != "")
    file = F.col("_metadata.file_name").alias("_file")
    about = (_run_column(runs).alias("_run"), file, F.col("value").alias("_line"))
    lines = text.select(*about, parsed.alias("parsed")).select("_run", "_file", "_line", "parsed.*")
    reasons = lines.select(
        F.col("_run").alias("run"),
        F.col("_file").alias("file"),
        problem_of(lines).alias("reason"),
        F.col("_line").alias("line"),
    )
    return reasons.where(F.col("reason").isNotNull())


def run_key(run: RunDirectory, runs: Sequence[RunDirectory]) -> str:
    """What `run` is called in the column `run` when `runs` are read together: its directory's name, with as many of the
    directories above it as it takes to tell all apart."""
    return "/".join(run.path.parts[-_depth(runs) :])


def problem_of(lines: DataFrame) -> Column:
    """Why a line of `lines` is no event; null when it is one."""
    known = F.col("event").isin(sorted(EVENTS))
    problem = F.when(F.col(UNPARSED).isNotNull(), F.lit("no JSON object of the schema's types"))
    problem = problem.when(F.col("format").isNull(), F.lit("no format"))
    problem = problem.when(F.col("format") != EVENT_FORMAT, F.concat(F.lit("unknown format "), "format"))
    problem = problem.when(F.col("event").isNull(), F.lit("no event"))
    problem = problem.when(~known, F.concat(F.lit("unknown event "), "event"))
    for name in ENVELOPE_NEEDED:
        problem = problem.when(F.col(name).isNull(), F.lit(f"no {name}"))
    return problem


def _run_column(runs: Sequence[RunDirectory]) -> Column:
    if len(runs) == 1:
        return F.lit(runs[0].name)
    depth = _depth(runs)
    name = F.regexp_extract(F.col("_metadata.file_path"), rf"((?:[^/]+/){{{depth - 1}}}[^/]+)/events/[^/]+$", 1)
    if all(quote(str(run.path)) == str(run.path) for run in runs):
        return name
    return F.url_decode(F.replace(name, F.lit("+"), F.lit("%2B")))  # the path is a URL, but its + is no blank


def _depth(runs: Sequence[RunDirectory]) -> int:
    """How many of the last parts of their paths tell `runs` apart."""
    paths = {run.path for run in runs}
    longest = max((len(path.parts) for path in paths), default=1)
    for depth in range(1, longest):
        if len({path.parts[-depth:] for path in paths}) == len(paths):
            return depth
    return longest
