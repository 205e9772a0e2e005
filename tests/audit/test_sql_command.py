"""`faultline sql`: which argument is the query, how rows are printed, messages of refusals."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import sys
from contextlib import nullcontext
from pathlib import Path
from subprocess import Popen, run
from typing import TYPE_CHECKING, Any

import pytest

from audit.campaign_views import CAMPAIGN_VIEWS
from audit.input import AuditInputError, find_runs
from audit.opened import opened
from audit.prompt import completer, typed
from audit.sql_command import PROMPT, Shape, _ask, _silence_spark, split_arguments, sql_command
from audit.view_creation import create_views
from audit.views import VIEWS, needed
from emulator.cli.app import app
from emulator.judging.campaigns.cells import MEASURES
from emulator.judging.campaigns.dataset import About, writing
from emulator.judging.campaigns.row import CheckRow, Row
from emulator.judging.campaigns.space import Space
from emulator.old_names import OldName
from tests.audit.trace import dual_leader
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_last_argument_is_the_query_unless_it_is_a_directory(tmp_path: Path) -> None:
    blank = tmp_path / "a run"
    blank.mkdir()
    assert split_arguments(["a", "b"]) == (["a", "b"], None)
    assert split_arguments(["a", "SELECT 1"]) == (["a"], "SELECT 1")
    assert split_arguments(["a", str(blank)]) == (["a", str(blank)], None)
    assert split_arguments(["a"]) == (["a"], None)
    assert split_arguments([]) == ([], None)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["sql"], "no run given"),
        (["sql", "nowhere", "nothing"], "nowhere: no such directory"),
        (["sql", "nowhere", "--csv", "--json"], "either --csv or --json"),
        (["sql", "nowhere", "--rows", "0"], "at least 1 row"),
    ],
)
def test_an_invalid_query_is_one_line(
    arguments: list[str],
    output: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert app(arguments, result_action="return_value") == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("faultline sql: ") and output in err


OPERATIONS = "SELECT 1 FROM operations"
"""A query, for which one table of all is made."""


@pytest.fixture(scope="module")
def requested(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    create_views(spark, find_runs([dual_leader().write(tmp_path_factory.mktemp("asked"))]), OPERATIONS)
    _silence_spark()
    return spark


@pytest.mark.spark
def test_rows_come_below_their_names(requested: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert _ask(requested, "SELECT 'a\tb' AS x, NULL AS nothing, 1 AS n", "text", 10) == 0
    assert capsys.readouterr().out == "x\tnothing\tn\na\\tb\t\t1\n"


@pytest.mark.spark
@pytest.mark.parametrize("shape", ["csv", "json"])
def test_rows_are_read_back(requested: SparkSession, capsys: pytest.CaptureFixture[str], shape: Shape) -> None:
    assert _ask(requested, "SELECT 'a,\"b\nc' AS x, 1 AS n, 2 AS n, DATE '2020-01-02' AS day", shape, 10) == 0
    out = capsys.readouterr().out
    if shape == "csv":
        assert list(csv.reader(io.StringIO(out))) == [["x", "n", "n", "day"], ['a,"b\nc', "1", "2", "2020-01-02"]]
    else:
        assert json.loads(out) == [{"x": 'a,"b\nc', "n": 1, "n_2": 2, "day": "2020-01-02"}]


@pytest.mark.spark
def test_a_bound_on_rows_is_reported(requested: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert _ask(requested, "SELECT value FROM operations ORDER BY value", "text", 2) == 0
    out, err = capsys.readouterr()
    assert (out.count("\n"), err) == (3, "faultline sql: more than 2 rows; print more with --rows N\n")
    assert _ask(requested, "SELECT 1 AS one", "text", 1) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("query", "output"),
    [
        ("selct 1 a", "Syntax error at or near 'selct' (line 1, pos 0)"),
        ("SELECT valu FROM operations", "no column valu; nearest: value (line 1, pos 7)"),
        ("SELECT 1,\n o.valu FROM operations o", "no column o.valu; nearest: o.value (line 2, pos 1)"),
        ("SELECT 1 FROM opertions", "no table opertions; nearest: operations (line 1, pos 14)"),
        ("SELECT 1 FROM q", "no table q (line 1, pos 14)"),
        ("SELECT lengt(value) FROM operations", "no function lengt; nearest: length (line 1, pos 7)"),
        ("SELECT 1 / 0", "Division by zero. Use `try_divide`"),
    ],
)
def test_a_refused_query_is_one_line_with_the_nearest_name(
    requested: SparkSession, capfd: pytest.CaptureFixture[str], query: str, output: str
) -> None:
    assert _ask(requested, query, "text", 10) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"faultline sql: {output}")


@pytest.mark.spark
def test_without_a_query_there_is_a_prompt(tmp_path: Path) -> None:
    """On a terminal; the run is the only argument."""
    directory = dual_leader().write(tmp_path)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "emulator", "sql", str(directory)]
    with Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as process:
        os.close(theirs)
        shown = ""
        for typed in ("SELECT valu FROM operations\n", "SELECT 40 + 2 AS answer;\n", "\x04"):
            shown += _until(ours, PROMPT)
            os.write(ours, typed.encode())
        shown += _until(ours, None)
        assert process.wait(PATIENCE_S) == 0
    assert "operations" in shown.partition(PROMPT)[0]
    assert "no column valu; nearest: value" in shown
    assert "answer" in shown and "42" in shown


def _until(terminal: int, text: str | None) -> str:
    """The terminal's output until `text`, or until its end."""
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], requested: SparkSession
) -> None:
    from audit import sql_command as module

    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 1 AS a;\nSELECT\n 2 AS b\n"))
    queries = list(module._piped())
    assert queries == ["SELECT 1 AS a", "SELECT\n 2 AS b"]
    assert [_ask(requested, query, "text", 1) for query in queries] == [0, 0]
    assert capsys.readouterr().out == "a\n1\nb\n2\n"


@pytest.mark.spark
def test_runs_have_their_names_however_many_there_are(spark: SparkSession, tmp_path: Path) -> None:
    """Makes the views of other runs: no test after it asks `asked`."""

    def names(*folders: str) -> list[str]:
        for folder in folders:
            if not (tmp_path / folder).exists():
                dual_leader().write(tmp_path / folder)
        create_views(spark, find_runs([tmp_path / folder / "dual-leader" for folder in folders]), OPERATIONS)
        rows: list[Any] = spark.sql("SELECT DISTINCT run FROM operations ORDER BY run").collect()
        return [row["run"] for row in rows]

    assert names("one") == ["dual-leader"]
    assert names("one", "two") == ["one/dual-leader", "two/dual-leader"]
    assert names("one", "a b+c é") == ["a b+c é/dual-leader", "one/dual-leader"]
    dual_leader().write(tmp_path)
    create_views(spark, find_runs([tmp_path / "dual-leader", tmp_path / "one" / "dual-leader"]), OPERATIONS)
    assert spark.sql("SELECT DISTINCT run FROM events").count() == 2


REFUSED = (
    ("SELECT valu FROM operations", "no column valu; nearest: value (line 1, pos 7)"),
    ("SELECT 1,\n o.valu FROM operations o", "no column o.valu; nearest: o.value (line 2, pos 1)"),
    ("SELECT 1 FROM opertions", "no table opertions; nearest: operations (line 1, pos 14)"),
    ("selct 1 a", "Syntax error at or near 'selct'; nearest: SELECT (line 1, pos 0)"),
)


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def spark_of(*_: object, **__: object) -> None:
        raise AssertionError("Spark starts")

    monkeypatch.setattr("audit.commands.spark_of", spark_of)


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize(("query", "output"), REFUSED)
def test_a_query_is_refused_before_spark_starts(
    query: str, output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sql_command([str(dual_leader().write(tmp_path))], query) == 2
    assert capsys.readouterr() == ("", f"faultline sql: {output}\n")


SLOW_IMPORTS = ("pyspark.sql", "pyarrow", "trio", "audit.commands", "emulator.machines.broker.broker")


def test_a_refused_query_imports_nothing_slow(tmp_path: Path) -> None:
    """The time of a refusal is that of its imports, a quarter of a second."""
    program = (
        "import sys; from emulator.cli.app import _command\n"
        f"print(_command(sys.argv[1:]), [name for name in {SLOW_IMPORTS} if name in sys.modules])"
    )
    command = [sys.executable, "-c", program, "sql", str(dual_leader().write(tmp_path)), REFUSED[0][0]]
    assert run(command, capture_output=True, text=True, check=True).stdout == "2 []\n"


@pytest.mark.usefixtures("without_spark")
def test_a_query_of_a_campaign_is_refused_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = "SELECT one.verdic FROM runs LATERAL VIEW explode(checks) AS one"
    assert sql_command([str(campaign(tmp_path))], query) == 2
    assert capsys.readouterr().err == "faultline sql: no field verdic of one; nearest: verdict (line 1, pos 7)\n"


@pytest.mark.usefixtures("without_spark")
def test_refused_queries_of_a_pipe_start_no_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT a FROM reads;\nSELECT value FROM red\n"))
    assert sql_command([str(dual_leader().write(tmp_path))]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "faultline sql: no column a (line 1, pos 7)",
        "faultline sql: no table red; nearest: reads (line 1, pos 18)",
    ]


@pytest.mark.spark
def test_names_that_a_statement_makes_are_known(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also a table's old name, with a warning."""
    monkeypatch.setattr("audit.commands.spark_of", lambda *_, **__: nullcontext((spark, tmp_path)))
    queries = (
        "SELECT count(*) AS n FROM records",
        "CREATE TEMPORARY VIEW mine AS SELECT 1 AS a",
        "SELECT a FROM mine",
        "DROP VIEW mine",
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO(";\n".join(queries)))
    with pytest.warns(OldName, match="sql: 'records' is the old name of 'appends'"):
        assert sql_command([str(dual_leader().write(tmp_path))]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "n" and out.splitlines()[2:4] == ["a", "1"]
    assert err == ""


def test_no_run_is_no_query(capsys: pytest.CaptureFixture[str]) -> None:
    assert sql_command([], "SELECT 1") == 2
    assert "no run given" in capsys.readouterr().err


def test_tab_completes_tables_columns_and_keywords() -> None:
    complete = completer(["operations", "offset", "outcome", "SELECT"])
    assert [complete("o", number) for number in range(4)] == ["operations", "offset", "outcome", None]
    assert complete("sel", 0) == "SELECT" and complete("x", 0) is None


def test_earlier_queries_come_back_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is its owner's alone; a prompt without one goes on all the same."""
    import readline

    lines = iter(["SELECT 1;", "  ", "exit"])

    def answer(prompt: str) -> str:
        line = next(lines)
        readline.add_history(line)
        return line

    monkeypatch.setattr("builtins.input", answer)
    history = tmp_path / "history"
    assert list(typed(["runs"], history)) == ["SELECT 1"]
    assert "SELECT 1;" in history.read_text() and history.stat().st_mode & 0o777 == 0o600
    readline.clear_history()
    lines = iter(["exit"])
    assert list(typed([], tmp_path / "no" / "folder")) == []


def test_only_the_tables_that_a_query_names_are_made_and_what_they_rest_on() -> None:
    def names(query: str | None) -> list[str]:
        return [view.name for view in needed(query, VIEWS)]

    below = ["operations", "produced", "logs"]
    assert names("SELECT * FROM LOST JOIN led USING (run)") == [*below, "led", "lost"]
    assert names("SELECT * FROM records") == names("SELECT * FROM appends") == ["appends"]
    assert names("SELECT 1") == []
    assert names(None) == names("show tables") == names("DESCRIBE led") == [view.name for view in VIEWS]


MEASURED = MEASURES[MEASURES.index("time_to_new_leader_ms") :]


def campaign(directory: Path) -> Path:
    """Two cells of two seeds: acks=1 loses in one of them; a run of the other says nothing."""
    about = About(command="sweep", space=Space(scenario="s", seeds=2), scenario_digest="1")
    measured: dict[str, Any] = dict.fromkeys(MEASURED, 1)
    with writing(directory, about) as written:
        for number in range(4):
            cell, seed = divmod(number, 2)
            lost = 2 if (cell, seed) == (0, 1) else 0
            unknown = ("late",) if number == 3 else ()
            check = CheckRow("lost-acknowledged", "violated" if lost else "held", False, lost, 9)
            written.add(
                Row(
                    scenario="s", kafka_version="0.10.2" if cell else "2.8", number=number, cell=cell, seed=seed,
                    settings={"producer.acks": "all" if cell else "1"}, parameters={}, faults=(), valid="true", code=0,
                    checks=(check,), lost=lost, duplicated=0, diverged=0, acknowledged=1, refused=0,
                    undecided=0, reordered=0, unavailable_ms={"az-0": 5.0, "az-1": None},
                    **({} if number else measured),
                    unknown_because=unknown, replay=f"faultline run s --seed {seed}",
                )
            )  # fmt: skip
    return directory


@pytest.mark.spark
def test_a_campaign_is_opened_like_a_run(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = opened([str(campaign(tmp_path / "a [campaign]"))])
    _silence_spark()
    requested = "SELECT check, runs, of, share, kafka_version, replay FROM broken"
    assert _ask(spark, requested, "text", 10, tables) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["lost-acknowledged\t1\t2\t0.5\t2.8\tfaultline run s --seed 1"]
    requested = "SELECT settings, runs, told, losing, most_lost FROM cells ORDER BY cell"
    assert _ask(spark, requested, "json", 9, tables) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"settings": {"producer.acks": "1"}, "runs": 2, "told": 2, "losing": 0.5, "most_lost": 2},
        {"settings": {"producer.acks": "all"}, "runs": 2, "told": 1, "losing": 0.0, "most_lost": 0},
    ]
    assert _ask(spark, "SELECT az, value FROM measures WHERE measure = 'unavailable_ms'", "csv", 9, tables) == 0
    assert capsys.readouterr().out.splitlines() == ["az,value", *["az-0,5.0"] * 4]
    assert _ask(spark, "SELECT measure, value FROM measures WHERE cell = 0 AND seed = 0", "json", 99, tables) == 0
    reported = {row["measure"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    assert set(reported) == {*MEASURES, "unavailable_ms"}
    assert {reported[name] for name in MEASURED} == {1.0}
    assert _ask(spark, "SELECT 1 FROM chekcs", "text", 9, tables) == 2
    assert "no table chekcs; nearest: checks" in capsys.readouterr().err
    for view in CAMPAIGN_VIEWS:
        assert view.name in tables.described()
    tables.create(spark, "SHOW TABLES")
    for name, columns in tables.tables.items():
        assert dict(spark.table(name).dtypes) == columns, name


def test_runs_and_campaigns_are_not_mixed(tmp_path: Path) -> None:
    directory = dual_leader().write(tmp_path)
    with pytest.raises(AuditInputError, match=r"c is a campaign and .* is none"):
        opened([str(directory), str(campaign(tmp_path / "c"))])
