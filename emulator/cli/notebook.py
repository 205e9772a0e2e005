"""Commands for notebooks: any command of the command line, and SQL with a table as result.

    from emulator.cli.notebook import ask, command
    command("run az-isolated-leader --world sim --out runs/first")
    ask("runs/first", "SELECT * FROM led")

One Spark session serves all queries of a process; it ends with the process.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import shlex
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

import msgspec

from emulator.exit_codes import UNUSABLE
from emulator.terminal import shown_plainly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_MAX: Final = 200
NUMBERS: Final = (int, float)

_session: list[SparkSession] = []


class Refused(ValueError):
    """A command or a query with unusable input; the message is its own line."""


class Answer(msgspec.Struct, frozen=True):
    """Rows, as text or as HTML. `more`: there are more rows than the limit."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool = False

    def __repr__(self) -> str:
        cells = [self.names, *(tuple(map(_text, row)) for row in self.rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(self.names))]
        right = [self._is_number(column) for column in range(len(self.names))]
        lines = []
        for row in cells:
            parts = zip(row, widths, right, strict=True)
            lines.append("  ".join(one.rjust(width) if r else one.ljust(width) for one, width, r in parts).rstrip())
        return "\n".join([*lines, *(["..."] if self.more else [])])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.names)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(shown_plainly(_text(one)))}</td>' for one in row)}</tr>" for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{'<p>...</p>' if self.more else ''}"

    def _is_number(self, column: int) -> bool:
        return any(isinstance(row[column], NUMBERS) and not isinstance(row[column], bool) for row in self.rows)


def command(words: str) -> str:
    """Run a command in this process; returns its output.

    Exit codes of verdicts are no errors here. Raises Refused with the command's line for unusable input.
    """
    from emulator.cli.app import app
    from emulator.cli.old_arguments import current_arguments

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        current = current_arguments(shlex.split(words))
        code = app(current, exit_on_error=False, print_error=False, result_action="return_value")
    if code == UNUSABLE:
        raise Refused(err.getvalue().strip())
    return out.getvalue()


def ask(places: str | Sequence[str], query: str, rows_max: int = ROWS_MAX) -> Answer:
    """Rows of a query over runs, or campaigns. Raises Refused with one line."""
    from audit.input import AuditInputError
    from audit.opened import opened
    from audit.sql_command import explained, refusal
    from audit.tuning import tuned

    try:
        tables = opened([places] if isinstance(places, str) else places)
    except AuditInputError as error:
        raise Refused(str(error)) from error
    if not _session and (why := refusal(query, tables)) is not None:  # a session may have names of its own
        raise Refused(why)
    spark = _spark()
    from pyspark.errors import PySparkException

    with tuned(spark, tables.small, tables.size_bytes):
        try:
            tables.create(spark, query)
            answer = spark.sql(query)
            rows = answer.limit(rows_max + 1).collect()
        except PySparkException as error:
            raise Refused(explained(error, spark, query, tables.names)) from error
        finally:
            tables.forget()
    return Answer(tuple(answer.columns), tuple(map(tuple, rows[:rows_max])), len(rows) > rows_max)


def _spark() -> SparkSession:
    """The process's Spark session, started by the first query."""
    if not _session:
        from audit.commands import spark_of
        from audit.spark_session import DEFAULT_MASTER

        kept = contextlib.ExitStack()
        spark, _ = kept.enter_context(spark_of(DEFAULT_MASTER, 0))
        atexit.register(kept.close)
        _session.append(spark)
    return _session[0]


def _text(value: object) -> str:
    """Text of a cell; milliseconds have at most three decimals."""
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    from audit.sql_command import cell_text

    return cell_text(value)
