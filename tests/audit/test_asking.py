"""`faultline sql`: which argument is the query, how rows are printed, and what is said of a query that is refused."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import sys
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Any

import pytest

from audit.asking import PROMPT, Shape, _ask, _silence_spark, sql_command, told_apart
from audit.input import find_runs
from audit.views import create_views
from emulator.cli.app import app
from tests.audit.trace import dual_leader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_last_argument_is_the_query_unless_it_is_a_directory(tmp_path: Path) -> None:
    blank = tmp_path / "a run"
    blank.mkdir()
    assert told_apart(["a", "b"]) == (["a", "b"], None)
    assert told_apart(["a", "SELECT 1"]) == (["a"], "SELECT 1")
    assert told_apart(["a", str(blank)]) == (["a", str(blank)], None)
    assert told_apart(["a"]) == (["a"], None)
    assert told_apart([]) == ([], None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sql"], "no run given"),
        (["sql", "nowhere", "nothing"], "nowhere: no such directory"),
        (["sql", "nowhere", "--csv", "--json"], "either --csv or --json"),
        (["sql", "nowhere", "--rows", "0"], "at least 1 row"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert app(arguments, result_action="return_value") == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("faultline sql: ") and said in err


@pytest.fixture
def asked(spark: SparkSession, tmp_path: Path) -> SparkSession:
    create_views(spark, find_runs([dual_leader().write(tmp_path)]))
    _silence_spark()
    return spark


@pytest.mark.spark
def test_rows_come_below_their_names(asked: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert _ask(asked, "SELECT 'a\tb' AS x, NULL AS nothing, 1 AS n", "text", 10) == 0
    assert capsys.readouterr().out == "x\tnothing\tn\na\\tb\t\t1\n"


@pytest.mark.spark
@pytest.mark.parametrize("shape", ["csv", "json"])
def test_rows_are_read_back(asked: SparkSession, capsys: pytest.CaptureFixture[str], shape: Shape) -> None:
    assert _ask(asked, "SELECT 'a,\"b\nc' AS x, 1 AS n, 2 AS n, DATE '2020-01-02' AS day", shape, 10) == 0
    out = capsys.readouterr().out
    if shape == "csv":
        assert list(csv.reader(io.StringIO(out))) == [["x", "n", "n", "day"], ['a,"b\nc', "1", "2", "2020-01-02"]]
    else:
        assert json.loads(out) == [{"x": 'a,"b\nc', "n": 1, "n_2": 2, "day": "2020-01-02"}]


@pytest.mark.spark
def test_a_bound_on_rows_is_said(asked: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert _ask(asked, "SELECT value FROM operations ORDER BY value", "text", 2) == 0
    out, err = capsys.readouterr()
    assert (out.count("\n"), err) == (3, "faultline sql: there are more than 2 rows; --rows N prints more\n")
    assert _ask(asked, "SELECT 1 AS one", "text", 1) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("selct 1 a", "Syntax error at or near 'selct' (line 1, pos 0)"),
        ("SELECT valu FROM operations", "no column valu; nearest: value"),
        ("SELECT o.valu FROM operations o", "no column o.valu; nearest: o.value"),
        ("SELECT 1 FROM opertions", "no table opertions; nearest: operations"),
        ("SELECT 1 FROM q", "no table q"),
        ("SELECT lengt(value) FROM operations", "no function lengt; nearest: length"),
        ("SELECT 1 / 0", "Division by zero. Use `try_divide`"),
    ],
)
def test_a_refused_query_is_one_line_with_the_nearest_name(
    asked: SparkSession, capfd: pytest.CaptureFixture[str], query: str, said: str
) -> None:
    assert _ask(asked, query, "text", 10) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"faultline sql: {said}")


@pytest.mark.spark
def test_runs_have_their_names_however_many_there_are(spark: SparkSession, tmp_path: Path) -> None:
    def names(*folders: str) -> list[str]:
        for folder in folders:
            if not (tmp_path / folder).exists():
                dual_leader().write(tmp_path / folder)
        create_views(spark, find_runs([tmp_path / folder / "dual-leader" for folder in folders]))
        rows: list[Any] = spark.sql("SELECT DISTINCT run FROM operations ORDER BY run").collect()
        return [row["run"] for row in rows]

    assert names("one") == ["dual-leader"]
    assert names("one", "two") == ["one/dual-leader", "two/dual-leader"]
    assert names("one", "a b+c é") == ["a b+c é/dual-leader", "one/dual-leader"]
    dual_leader().write(tmp_path)
    create_views(spark, find_runs([tmp_path / "dual-leader", tmp_path / "one" / "dual-leader"]))
    assert spark.sql("SELECT DISTINCT run FROM events").count() == 2


@pytest.mark.spark
def test_without_a_query_there_is_a_prompt(tmp_path: Path) -> None:
    """On a terminal; the run is the only argument."""
    run = dual_leader().write(tmp_path)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "emulator", "sql", str(run)]
    with Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as process:
        os.close(theirs)
        shown = ""
        for typed in ("SELECT valu FROM operations\n", "SELECT 40 + 2 AS answer;\n", "\x04"):
            shown += _until(ours, PROMPT)
            os.write(ours, typed.encode())
        shown += _until(ours, None)
        assert process.wait(30) == 0
    assert "operations" in shown.partition(PROMPT)[0]
    assert "no column valu; nearest: value" in shown
    assert "answer" in shown and "42" in shown


def _until(terminal: int, text: str | None) -> str:
    """What the terminal shows until `text`, or its end."""
    shown = b""
    while text is None or text.encode() not in shown:
        try:
            more = os.read(terminal, 4096)
        except OSError:  # Linux's word for the end of a terminal
            break
        if not more:
            break
        shown += more
    return shown.decode()


@pytest.mark.spark
def test_queries_are_taken_from_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: SparkSession
) -> None:
    from audit import asking

    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 1 AS a;\nSELECT\n 2 AS b\n"))
    queries = list(asking._piped())
    assert queries == ["SELECT 1 AS a", "SELECT\n 2 AS b"]
    assert [_ask(asked, query, "text", 1) for query in queries] == [0, 0]
    assert capsys.readouterr().out == "a\n1\nb\n2\n"


def test_no_run_is_no_query(capsys: pytest.CaptureFixture[str]) -> None:
    assert sql_command([], "SELECT 1") == 2
    assert "no run given" in capsys.readouterr().err
