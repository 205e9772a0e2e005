"""`faultline sql RUN... [QUERY]`: one query's rows with their names, or a prompt when there is none.

On a terminal the rows are a table; in a pipe they are separated by tabs, below a line of names. A query that Spark
refuses is one sentence that names the nearest column or table.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from audit.commands import DEFAULT_MASTER, spark_of
from audit.input import AuditInputError, find_runs
from audit.session import GatewayError, NoJavaError, SparkFailed
from audit.views import VIEWS, create_views, described
from emulator.runs.verdict import EXIT_UNKNOWN, EXIT_UNUSABLE
from emulator.unheard_interrupts import interrupts_end_the_wait

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import Row, SparkSession

Shape = Literal["text", "csv", "json"]

ROWS_MAX = 1_000
"""Rows that are printed unless somebody asks for more."""

PROMPT = "sql> "


def told_apart(arguments: Sequence[str]) -> tuple[list[str], str | None]:
    """Runs and the query: the last argument is one if it holds white space and is no directory."""
    if not arguments or len(arguments[-1].split()) < 2 or Path(arguments[-1]).is_dir():
        return list(arguments), None
    return list(arguments[:-1]), arguments[-1]


def sql_command(
    runs: Sequence[str],
    query: str | None = None,
    *,
    shape: Shape = "text",
    rows_max: int = ROWS_MAX,
    master: str = DEFAULT_MASTER,
) -> int:
    """Exit code 2 when a run or a query is unusable. `rows_max`: of one query; that there were more is said."""
    if rows_max < 1:
        return _unusable(f"--rows {rows_max}: at least 1 row")
    try:
        directories = find_runs(runs)
        with spark_of(master, sum(run.size_bytes for run in directories)) as (spark, _):
            _silence_spark()
            create_views(spark, directories)
            if query is not None:
                return _ask(spark, query, shape, rows_max)
            if sys.stdin.isatty():
                print(described())
                for line in _typed():
                    _ask(spark, line, shape, rows_max)
                return 0
            return max((_ask(spark, one, shape, rows_max) for one in _piped()), default=0)
    except SparkFailed as error:
        print(f"faultline sql: {error}", file=sys.stderr)
        return EXIT_UNKNOWN
    except (AuditInputError, GatewayError, NoJavaError) as error:
        return _unusable(error)


def explained(error: PySparkException, spark: SparkSession) -> str:
    """Why Spark refused a query, in one line, with the nearest name that there is."""
    about = error.getMessageParameters() or {}
    match (error.getCondition() or "").partition(".")[0]:
        case "UNRESOLVED_COLUMN":
            nearest = _plain(about.get("proposal", "")).split(", ")[0]
            return f"no column {_plain(about['objectName'])}" + (f"; nearest: {nearest}" if nearest else "")
        case "TABLE_OR_VIEW_NOT_FOUND":
            table = _plain(about["relationName"])
            return f"no table {table}{_nearest(table, ['events', *(view.name for view in VIEWS)])}"
        case "UNRESOLVED_ROUTINE":
            function = _plain(about["routineName"])
            functions = [row["function"] for row in spark.sql("SHOW FUNCTIONS").collect()]
            return f"no function {function}{_nearest(function, functions)}"
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    words = re.sub(r"^\[[A-Z0-9_.]+\] ", "", first.strip())
    return re.sub(r"\.?\s*SQLSTATE: \w+", "", words).rstrip("; .")


def _ask(spark: SparkSession, query: str, shape: Shape, rows_max: int) -> int:
    from pyspark.errors import PySparkException

    try:
        answer = spark.sql(query)
        names, rows = answer.columns, answer.limit(rows_max + 1).collect()
    except PySparkException as error:
        return _unusable(explained(error, spark))
    _print(names, rows[:rows_max], shape)
    if len(rows) > rows_max:
        print(f"faultline sql: there are more than {rows_max} rows; --rows N prints more", file=sys.stderr)
    return 0


def _print(names: Sequence[str], rows: Sequence[Row], shape: Shape) -> None:
    if shape == "json":
        named = _distinct(names)
        told = [dict(zip(named, row, strict=True)) for row in rows]
        print(msgspec.json.format(msgspec.json.encode(told, enc_hook=str), indent=2).decode())
    elif shape == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
    elif sys.stdout.isatty():
        _print_table(names, rows)
    elif names:
        print("\t".join(names))
        for row in rows:
            print("\t".join(map(_cell, row)))


def _print_table(names: Sequence[str], rows: Sequence[Row]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from emulator.screen import Screen

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for number, name in enumerate(names):
        numeric = any(isinstance(row[number], int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row))
    Screen(highlight=False, markup=False).print(table)


def _cell(value: object) -> str:
    """One line's worth: what would break a table is written as in Python."""
    return "" if value is None else re.sub(r"[\t\r\n]", lambda found: repr(found[0])[1:-1], str(value))


def _distinct(names: Sequence[str]) -> list[str]:
    """An object's keys: of equal names the second is called name_2."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    counts = dict.fromkeys(seen, 0)
    told = []
    for name in names:
        counts[name] += 1
        told.append(name if counts[name] == 1 else f"{name}_{counts[name]}")
    return told


def _typed() -> Iterator[str]:
    """Lines at a prompt, with a history while it lasts; Ctrl-D ends it."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (input() then edits lines)
    while True:
        try:
            with interrupts_end_the_wait():
                line = input(PROMPT).strip().rstrip(";")
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()  # what is said of it stands on a line of its own
            raise
        if line in ("exit", "quit"):
            return
        if line:
            yield line


def _piped() -> Iterator[str]:
    """Queries on standard input: each ends with a `;` at the end of a line, the last one with the input."""
    lines: list[str] = []
    for line in sys.stdin:
        lines.append(line)
        if line.rstrip().endswith(";"):
            yield "".join(lines).strip().rstrip(";")
            lines = []
    if query := "".join(lines).strip():
        yield query


def _nearest(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; nearest: {close[0]}" if close else ""


def _plain(name: str) -> str:
    return name.replace("`", "")


def _silence_spark() -> None:
    """pyspark writes each refused query with Java's whole stack to standard error. `explained` says it."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def _unusable(error: object) -> int:
    print(f"faultline sql: {error}", file=sys.stderr)
    return EXIT_UNUSABLE
