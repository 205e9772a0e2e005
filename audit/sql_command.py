"""`faultline sql RUN... [QUERY]`: prints a query's rows; without a query, opens a prompt.

It opens a campaign's directory like a run's. On a terminal the rows form a table; in a pipe tabs separate them, below a
line of names. A refused query is one sentence with the nearest column or table, and the place. Most are refused before
Spark starts (`audit.query_names`).
"""

from __future__ import annotations

import csv
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from audit.input import AuditInputError
from audit.java import NoJavaError
from audit.opened import Opened, opened
from audit.prompt import PROMPT as PROMPT
from audit.prompt import typed
from audit.spark_java import SparkNotStarted
from audit.spark_session import DEFAULT_MASTER, SparkFailed
from audit.tuning import tuned
from audit.views import VIEWS
from emulator.exit_codes import UNKNOWN, UNUSABLE
from emulator.old_names import OldName, notice, renamed_verb

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import Row, SparkSession

Shape = Literal["text", "csv", "json"]

ALL_TABLES = ("events", *(view.name for view in VIEWS))
ROWS_MAX = 1_000
"""Default maximum of printed rows."""


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], str | None]:
    """(runs, query): the last argument is a query if it holds white space and is no directory."""
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
    cold: bool = False,
) -> int:
    """Run the queries over the runs. Exit code 2: a run or a query is unusable.

    The queries run over the usable runs. `rows_max`: maximum rows to print of one query; notes truncation.
    `cold`: with a Spark for this command alone.
    """
    if rows_max < 1:
        return _unusable(f"--rows {rows_max}: at least 1 row")
    try:
        tables = opened(runs)
        for one in tables.unusable:
            print(f"faultline sql: {one.why}", file=sys.stderr)
        code = UNUSABLE if tables.unusable else 0
        with ExitStack() as stack:
            session = _Session(tables, master, stack, shared=not cold, lasting=query is None)
            if query is not None:
                return max(code, _checked(session, query, shape, rows_max))
            if sys.stdin.isatty():
                session.spark()  # it starts while the user reads
                print(f"{tables.described()}\n\nTab completes names, DESCRIBE TABLE lists columns, Ctrl-D ends.")
                for line in typed(tables.words):
                    if line in ("help", "tables"):
                        print(tables.described())
                    else:
                        _checked(session, line, shape, rows_max)
                return code
            return max((_checked(session, one, shape, rows_max) for one in _piped()), default=0) or code
    except SparkFailed as error:
        print(f"faultline sql: {error}", file=sys.stderr)
        return UNKNOWN
    except (AuditInputError, SparkNotStarted, NoJavaError) as error:
        return _unusable(error)


class _Session:
    """Opened tables, and Spark, which starts with the first query that needs it.

    `own_names`: whether a statement may have made names that the tables lack.
    """

    def __init__(self, tables: Opened, master: str, stack: ExitStack, *, shared: bool, lasting: bool) -> None:
        self.tables = tables
        self.own_names = False
        self._master = master
        self._stack = stack
        self._shared = shared
        self._lasting = lasting
        self._spark: SparkSession | None = None

    def spark(self) -> SparkSession:
        if self._spark is None:
            from audit.commands import spark_of

            size_bytes = self.tables.size_bytes
            self._spark, _ = self._stack.enter_context(
                spark_of(self._master, size_bytes, shared=self._shared, lasting=self._lasting)
            )
            self._stack.enter_context(tuned(self._spark, self.tables.small, size_bytes))
            _silence_spark()
        return self._spark


def _checked(session: _Session, query: str, shape: Shape, rows_max: int) -> int:
    """Check a query's names, then run and print it."""
    if not session.own_names:
        from audit.query_syntax import changes_nothing

        if (why := refusal(query, session.tables)) is not None:
            return _unusable(why)
        session.own_names = not changes_nothing(query)
    return _ask(session.spark(), query, shape, rows_max, session.tables)


def refusal(query: str, tables: Opened) -> str | None:
    """The reason why Spark would refuse a query, without Spark; None: none is known.

    Gives a notice of each old name. For a session without names of its own.
    """
    from audit.query_names import checked

    found = checked(query, tables.tables, (*tables.hidden, *tables.old_names))
    if found.problem is not None:
        return found.problem.text + _place(query, found.problem.start)
    for name in sorted(found.hidden & tables.old_names.keys()):
        if (one := renamed_verb("sql", name)) is not None:
            warnings.warn(OldName(notice(one, "sql")), stacklevel=2)
    return None


def explained(error: PySparkException, spark: SparkSession, query: str = "", tables: Sequence[str] = ()) -> str:
    """Reason why Spark refused a query, with the nearest existing name and the place."""
    from audit.query_relations import nearest

    about = error.getMessageParameters() or {}
    place = _place_of(error, query)
    match (error.getCondition() or "").partition(".")[0]:
        case "UNRESOLVED_COLUMN":
            near = _plain(about.get("proposal", "")).split(", ")[0]
            return f"no column {_plain(about['objectName'])}" + (f"; nearest: {near}" if near else "") + place
        case "TABLE_OR_VIEW_NOT_FOUND":
            table = _plain(about["relationName"])
            return f"no table {table}{nearest(table, tables)}{place}"
        case "UNRESOLVED_ROUTINE":
            function = _plain(about["routineName"])
            functions = [row["function"] for row in spark.sql("SHOW FUNCTIONS").collect()]
            return f"no function {function}{nearest(function, functions)}{place}"
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    words = re.sub(r"^\[[A-Z0-9_.]+\] ", "", first.strip())
    reason = re.sub(r"\.?\s*SQLSTATE: \w+", "", words).rstrip("; .")
    return reason if "(line " in reason else reason + place


def _place_of(error: PySparkException, query: str) -> str:
    """Place of an error of Spark's; "" if unknown."""
    for context in error.getQueryContext():
        begin = context.startIndex()
        fragment = context.fragment()
        if 0 <= begin < len(query) and query[begin : begin + len(fragment)] == fragment:
            return _place(query, begin)
    return ""


def _place(query: str, begin: int) -> str:
    """Place such as ` (line 2, pos 7)` in Spark's counting: lines from 1, characters from 0."""
    before = query[:begin]
    return f" (line {before.count(chr(10)) + 1}, pos {begin - before.rfind(chr(10)) - 1})"


def _ask(spark: SparkSession, query: str, shape: Shape, rows_max: int, tables: Opened | None = None) -> int:
    """Run and print a query. `tables`: created for it; None: they exist."""
    from pyspark.errors import PySparkException

    try:
        if tables is not None:
            tables.create(spark, query)
        answer = spark.sql(query)
        names, rows = answer.columns, answer.limit(rows_max + 1).collect()
    except PySparkException as error:
        known = ALL_TABLES if tables is None else tables.names
        return _unusable(explained(error, spark, query, known))
    finally:
        if tables is not None:
            tables.forget()
    _print(names, rows[:rows_max], shape)
    if len(rows) > rows_max:
        print(f"faultline sql: more than {rows_max} rows; print more with --rows N", file=sys.stderr)
    return 0


def _print(names: Sequence[str], rows: Sequence[Row], shape: Shape) -> None:
    if shape == "json":
        named = _distinct(names)
        objects = [dict(zip(named, map(_nested, row), strict=True)) for row in rows]
        print(msgspec.json.format(msgspec.json.encode(objects, enc_hook=str), indent=2).decode())
    elif shape == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(map(_flat, row) for row in rows)
    elif sys.stdout.isatty():
        _print_table(names, rows)
    elif names:
        print("\t".join(names))
        for row in rows:
            print("\t".join(map(cell_text, row)))


def _print_table(names: Sequence[str], rows: Sequence[Row]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from emulator.screen import Screen

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for number, name in enumerate(names):
        numeric = any(isinstance(row[number], int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(cell_text, row))
    Screen(highlight=False, markup=False).print(table)


def cell_text(value: object) -> str:
    """Text of a value in one line: breaks as in Python, nested values as JSON."""
    return "" if value is None else re.sub(r"[\t\r\n]", lambda found: repr(found[0])[1:-1], str(_flat(value)))


def _flat(value: object) -> object:
    """A nested value as text."""
    nested = _nested(value)
    return msgspec.json.encode(nested, enc_hook=str).decode() if isinstance(nested, dict | list) else nested


def _nested(value: object) -> object:
    """The value with structs as objects, at any depth."""
    from pyspark.sql import Row

    match value:
        case Row():
            return {str(name): _nested(one) for name, one in value.asDict().items()}
        case dict():
            return {str(key): _nested(one) for key, one in value.items()}
        case list():
            return [_nested(one) for one in value]
    return value


def _distinct(names: Sequence[str]) -> list[str]:
    """Unique keys of an object: the second of equal names is called name_2."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    counts = dict.fromkeys(seen, 0)
    keys = []
    for name in names:
        counts[name] += 1
        keys.append(name if counts[name] == 1 else f"{name}_{counts[name]}")
    return keys


def _piped() -> Iterator[str]:
    """Queries on standard input: each ends with a `;` at a line's end, the last with the input."""
    lines: list[str] = []
    for line in sys.stdin:
        lines.append(line)
        if line.rstrip().endswith(";"):
            yield "".join(lines).strip().rstrip(";")
            lines = []
    if query := "".join(lines).strip():
        yield query


def _plain(name: str) -> str:
    return name.replace("`", "")


def _silence_spark() -> None:
    """Disable pyspark's log of refused queries with Java's stack; `explained` reports them."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def _unusable(error: object) -> int:
    print(f"faultline sql: {error}", file=sys.stderr)
    return UNUSABLE
