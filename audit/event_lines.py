"""Events as Spark reads them: the schema, and lines that are no events.

One flat table; its columns are the fields of `protocol.events`, so the schema has one source. A line is put in
quarantine, with the reason, in these cases. It is no JSON of the right types, is of another format, names an unknown
event, or lacks a part of the envelope or of its event (`protocol.events.event_parsing`). Or it is of another run than
the others here, or of another incarnation than in its file's name. The audit counts it, keeps it in
RUN/quarantine.jsonl, and makes the verdict unknown, because its contents are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from pyspark.sql import functions as F
from pyspark.sql import types as T

from audit.input import RunDirectory
from emulator.run_layout import only_writer
from protocol.events import ENVELOPE, EVENTS, FIELDS, FORMATS_READ
from protocol.events.event_parsing import (
    BOUNDED,
    BUCKETS_CHARACTERS_MAX,
    BUCKETS_PATTERN,
    COUNTS_MAX,
    ENVELOPE_NEEDED,
    LINE_BYTES_MAX,
    NAME_SHOWN_MAX,
    NEEDED,
    NUMBER_MAX,
    TIME_MS_MAX,
    TIMES,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SPARK_TYPES: dict[type, T.DataType] = {
    int: T.LongType(),
    float: T.DoubleType(),
    str: T.StringType(),
    bool: T.BooleanType(),
}

UNPARSED = "_unparsed"
"""Column with the text of a line that is no JSON of the right types; null for other lines."""


LONGEST_LINE = "mapreduce.input.linerecordreader.line.maxlength"
"""Setting of Hadoop's reader, which skips longer lines; `audit.input` counts those."""
LINE_SHOWN_MAX = 4_096
"""Characters of a broken line that are kept."""

FILE = "_file"
"""Column with the name of a line's file, which names the incarnation of its events."""
KEY = "_key"
"""Column with the key of the line's run (`run_keys`); its field `run` is the run's own name."""

LINE = "_line"
"""Column with the line's text."""

PROBLEM = "problem"
"""Column with the reason why a line is no event; null: it is one."""

FREQUENT = ("batch_appended", "high_watermark_moved", "operation_ended", "operation_invoked", "records_read")


def spark_schema(fields: Iterable[str] = FIELDS) -> T.StructType:
    """Schema of the columns `fields`, all nullable; types from `protocol.events.FIELDS`."""
    return T.StructType([T.StructField(name, SPARK_TYPES[FIELDS[name]]) for name in fields])


EVENT_SCHEMA = spark_schema()


def _line_schema(columns: Iterable[str]) -> T.StructType:
    """Schema of a parsed line: the envelope, `columns`, and UNPARSED."""
    return spark_schema(dict.fromkeys((*ENVELOPE, *columns))).add(UNPARSED, T.StringType())


def read_lines(
    spark: SparkSession,
    runs: Sequence[RunDirectory],
    columns: Sequence[str] = tuple(FIELDS),
    *,
    wire: bool = False,
    instead: list[str] | None = None,
) -> DataFrame:
    """Every line of the runs' files as `columns`, `run` (its key, see `run_keys`) and PROBLEM.

    `wire`: the wire level's files instead of the others. `instead`: paths of other files than the runs', which have the
    same names, from the first part of the runs' keys on. Only `columns` are parsed; the envelope always is.
    """
    schema = _line_schema(columns)
    paths = [path for run in runs for path in run.paths(wire=wire)] if instead is None else instead
    if not paths:
        return spark.createDataFrame([], schema).select(*columns, F.lit(None).cast("string").alias(PROBLEM))
    lines = (
        spark.read.schema(schema)
        .option("mode", "PERMISSIVE")
        .option("columnNameOfCorruptRecord", UNPARSED)
        .option(LONGEST_LINE, LINE_BYTES_MAX)
        .json(paths)
        .withColumns({KEY: _run_column(runs), FILE: F.col("_metadata.file_name")})
    )
    return _selected(lines, runs, columns)


def _selected(lines: DataFrame, runs: Sequence[RunDirectory], columns: Sequence[str]) -> DataFrame:
    wanted = [F.col(KEY).alias("run") if name == "run" else F.col(name) for name in columns]
    return lines.select(*wanted, problem_of(lines, runs).alias(PROBLEM))


def _parsed(text: DataFrame, columns: Iterable[str] = FIELDS) -> DataFrame:
    """KEY, FILE, LINE, the envelope and `columns` of all non-empty lines of `text`."""
    parsed = F.from_json(LINE, _line_schema(columns), {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNPARSED})
    lines = text.where(F.trim(LINE) != "").select(KEY, FILE, LINE, parsed.alias("parsed"))
    # From a text, Spark parses leniently what is not UTF-8; from a file it does not.
    strictly = F.expr(f"IF(is_valid_utf8({LINE}), `{UNPARSED}`, {LINE})")
    return lines.select(KEY, FILE, LINE, "parsed.*").withColumn(UNPARSED, strictly)


def read_events(spark: SparkSession, runs: Sequence[RunDirectory]) -> DataFrame:
    """Every event of every level with all its fields, as the views show them."""
    both = [read_lines(spark, runs, wire=wire) for wire in (False, True) if any(r.paths(wire=wire) for r in runs)]
    lines = both[0] if len(both) == 1 else both[0].unionByName(both[1])
    return lines.where(F.col(PROBLEM).isNull()).drop(PROBLEM)


def read_quarantine(spark: SparkSession, runs: Sequence[RunDirectory]) -> DataFrame:
    """Lines that are no events: `run`, `file`, `reason`, `line` (the text), torn ones included.

    Reads the files once more, as text: a line that is JSON but no event has lost its text in `read_lines`.
    """
    paths = [path for run in runs for wire in (False, True) for path in run.paths(wire=wire)]
    file = F.col("_metadata.file_name").alias(FILE)
    text = spark.read.option(LONGEST_LINE, LINE_BYTES_MAX).text(paths)
    lines = _parsed(text.select(_run_column(runs).alias(KEY), file, F.col("value").alias(LINE)))
    reasons = lines.select(
        F.col(KEY).alias("run"),
        F.col(FILE).alias("file"),
        problem_of(lines, runs).alias("reason"),
        F.expr(f"left(make_valid_utf8({LINE}), {LINE_SHOWN_MAX})").alias("line"),
    )
    return reasons.where(F.col("reason").isNotNull())


def run_keys(runs: Sequence[RunDirectory]) -> list[str]:
    """Keys of the runs in the column `run`: directory names with the necessary parents."""
    depth = _depth(runs)
    return ["/".join(run.path.parts[-depth:]) for run in runs]


def problem_of(lines: DataFrame, runs: Sequence[RunDirectory]) -> Column:
    """The reason why a line is no event of its run; null: it is one.

    The rules are those of `protocol.events.event_parsing`, for the columns present.
    """
    columns, known = set(lines.columns), ", ".join(map(_text, sorted(EVENTS)))
    cases = [
        (f"`{UNPARSED}` IS NOT NULL", _text("no JSON object of the schema's types")),
        ("format IS NULL", _text("no format")),
        (f"format NOT IN {FORMATS_READ}", f"concat('unknown format ', left(format, {NAME_SHOWN_MAX}))"),
        ("event IS NULL", _text("no event")),
        (f"event NOT IN ({known})", f"concat('unknown event ', left(event, {NAME_SHOWN_MAX}))"),
        *((f"{name} IS NULL", _text(f"no {name}")) for name in ENVELOPE_NEEDED),
        *_lacking(columns),
        *_out_of_range(columns),
        (
            f"NOT startswith(`{FILE}`, concat(node, '.', incarnation, '.'))",
            f"concat('of ', left(node, {NAME_SHOWN_MAX}), ', incarnation ', incarnation, ', in the file ', `{FILE}`)",
        ),
        (_of_another_run(runs), f"concat('of another run, ', left(run, {NAME_SHOWN_MAX}))"),
    ]
    if "buckets" in columns:
        fits = f"length(buckets) <= {BUCKETS_CHARACTERS_MAX} AND buckets RLIKE {_text(BUCKETS_PATTERN)}"
        cases.append((f"NOT ({fits})", _text("buckets cannot be read")))
    return F.expr("CASE " + " ".join(f"WHEN {wrong} THEN {why}" for wrong, why in cases) + " END")


def _lacking(columns: set[str]) -> Iterator[tuple[str, str]]:
    """(condition that a field of the event is null, reason); the most frequent events first."""
    needed = {event: [field for field in fields if field in columns] for event, fields in NEEDED.items()}
    order = sorted((event for event in needed if needed[event]), key=lambda event: (event not in FREQUENT, event))
    if not order:
        return
    cases = " ".join(
        f"WHEN '{event}' THEN {' OR '.join(f'`{field}` IS NULL' for field in needed[event])}" for event in order
    )
    events_with: dict[str, list[str]] = {}
    for event in order:
        for field in needed[event]:
            events_with.setdefault(field, []).append(_text(event))
    names = ", ".join(
        f"IF(`{field}` IS NULL AND event IN ({', '.join(events)}), '{field}', NULL)"
        for field, events in events_with.items()
    )
    yield f"CASE event {cases} ELSE false END", f"concat(event, ' lacks ', concat_ws(', ', {names}))"


def _out_of_range(columns: set[str]) -> Iterator[tuple[str, str]]:
    for names, most in ((BOUNDED, NUMBER_MAX), (TIMES, TIME_MS_MAX)):
        here = [f"`{name}`" for name in FIELDS if name in names & columns]
        if here:
            # Never null: greatest and least leave nulls out, and every line has these two of the envelope.
            worst = f"greatest({', '.join(here)}) > {most:.0f} OR least({', '.join(here)}) < {-most:.0f}"
            if len(here) == 1:
                worst = f"{here[0]} > {most:.0f} OR {here[0]} < {-most:.0f}"
            yield worst, _text("a number is out of range")
    for name, most in COUNTS_MAX.items():
        if name in columns:
            yield f"`{name}` NOT BETWEEN 1 AND {most}", _text(f"{name} is out of range")


def _of_another_run(runs: Sequence[RunDirectory]) -> str:
    """Condition that a line is of another run; a run has its directory's name unless renamed."""
    if len(runs) == 1:
        return f"run != {_text(runs[0].called)}"
    renamed = [
        _text(f"{key}/{run.called}") for run, key in zip(runs, run_keys(runs), strict=True) if run.called != run.name
    ]
    others = f" AND concat({KEY}, '/', run) NOT IN ({', '.join(renamed)})" if renamed else ""
    return f"run != substring_index({KEY}, '/', -1){others}"


def _text(text: str) -> str:
    """The text as a literal of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _run_column(runs: Sequence[RunDirectory]) -> Column:
    if len(runs) == 1:
        return F.lit(runs[0].name)
    depth, path = _depth(runs), F.col("_metadata.file_path")
    if _have_folders(runs):
        name = F.regexp_extract(path, rf"((?:[^/]+/){{{depth - 1}}}[^/]+)/events/(?:[^/]+/)?[^/]+$", 1)
    else:  # a pattern takes a twentieth of a large audit, as every line needs it
        name = F.substring_index(F.substring_index(path, "/", -(depth + 2)), "/", depth)
    if all(quote(str(run.path)) == str(run.path) for run in runs):
        return name
    return F.url_decode(F.replace(name, F.lit("+"), F.lit("%2B")))  # the path is a URL, but its + is no blank


def _have_folders(runs: Sequence[RunDirectory]) -> bool:
    return any(only_writer(file.path) for run in runs for file in run.files)


def _depth(runs: Sequence[RunDirectory]) -> int:
    """Count of the last parts of paths that distinguishes `runs`."""
    paths = {run.path for run in runs}
    longest = max((len(path.parts) for path in paths), default=1)
    for depth in range(1, longest):
        if len({path.parts[-depth:] for path in paths}) == len(paths):
            return depth
    return longest
