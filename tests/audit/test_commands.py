"""The commands: bad input yields one sentence and an exit code.

Views show the requested data.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from audit.audited_run import write_verdict
from audit.commands import audit_command, report_command, summary, verdict_text
from audit.event_lines import read_events
from audit.export import export
from audit.input import AuditInputError, find_runs
from audit.view_creation import create_views
from audit.views import ERROR_NAME_OF, EVENT_COLUMNS, EVENTS, VIEWS, described
from emulator.runs.verdict_file import CheckResult, CheckVerdict, Valid, Verdict, from_json
from protocol.events import FIELDS
from tests.audit.trace import dual_leader, healthy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("given", "output"),
    [
        ([], "no run given"),
        (["{tmp}/nothing"], "no such directory"),
        (["{tmp}/dual-leadr"], "nearest: {tmp}/dual-leader"),
        (["{tmp}/file"], "is a file; a run is a directory"),
        (["{tmp}/plain"], "not a run, it has no folder events"),
        (["{tmp}/dual-leader/events"], "did you mean {tmp}/dual-leader?"),
        (["{tmp}/x*"], "no run matches"),
    ],
)
def test_what_is_no_run_is_named_in_one_sentence(
    given: list[str], output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dual_leader().write(tmp_path)
    (tmp_path / "plain").mkdir()
    (tmp_path / "file").touch()
    assert audit_command([one.format(tmp=tmp_path) for one in given]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1 and err.startswith("faultline audit: ")
    assert output.format(tmp=tmp_path) in err


def test_a_report_of_no_run_is_unusable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report_command(str(tmp_path / "nothing")) == 2
    err = capsys.readouterr().err
    assert err.startswith("faultline report: ") and "no such directory" in err


def test_a_report_has_its_path_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = healthy().write(tmp_path)
    write_verdict(Verdict("healthy", "x", "sim", "unknown", [], [], {}, {}), run)
    assert report_command(str(run), json=True) == 0
    reported = {"run": "healthy", "report": str(run / "report.html"), "valid": "unknown"}
    assert json.loads(capsys.readouterr().out) == reported
    (run / "verdict.json").unlink()
    assert report_command(str(run), json=True) == 2
    output = capsys.readouterr()
    assert output.out == "" and "has no verdict.json yet" in output.err


def test_a_scenario_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    from audit.expected import expected_of
    from audit.report.about import about_run

    run = healthy().write(tmp_path)
    (run / "scenario.yaml").write_text("id: x\nsteps: nothing\n")
    with pytest.raises(AuditInputError, match=r"scenario\.yaml: not a scenario"):
        expected_of(run)
    (run / "settings.json").write_text("{")
    with pytest.raises(AuditInputError, match=r"settings\.json: not JSON"):
        expected_of(run)
    (run / "settings.json").write_bytes(b'{"settings": "\x82"}')
    assert about_run(run).kafka == ""
    (run / "settings.json").write_text('{"settings": {"dropped": 1}}')
    with pytest.raises(AuditInputError, match=r"settings\.json: settings: Expected `array`, got `int`"):
        expected_of(run)
    for name in ("settings.json", "scenario.yaml"):
        (run / name).unlink()
        (run / name).symlink_to("elsewhere")
        with pytest.raises(AuditInputError, match=rf"{name}: cannot be read: is a symbolic link; only regular files"):
            expected_of(run)
        (run / name).unlink()


def test_evidence_names_its_partition() -> None:
    """Two partitions may have the very same to tell."""
    reported = [{"partition": f"t-{n}", "text": "two leaders"} for n in (0, 1)] + [{"text": "of the whole run"}]
    verdict = Verdict("x", "x", "sim", False, [], [], {"dual-leader": CheckVerdict("violated", False, 3, reported)}, {})
    lines = verdict_text(verdict).splitlines()
    assert lines[-3:] == ["    t-0: two leaders", "    t-1: two leaders", "    of the whole run"]


def test_the_text_of_a_live_cluster_names_violations_as_there_are_no_expectations() -> None:
    """Such a run has no scenario."""
    checks = {"dual-leader": CheckVerdict("violated", False, 1, []), "duplicate": CheckVerdict("held", False, 0, [])}
    broken = Verdict("live", "", "network", False, [], [], checks, {})
    assert verdict_text(broken).splitlines()[0] == "live: violated: dual-leader"
    held = Verdict("live", "", "network", True, [], [], {"duplicate": CheckVerdict("held", False, 0, [])}, {})
    assert verdict_text(held).splitlines()[0] == "live: every check held"


@pytest.fixture(scope="module")
def viewed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """With the views of one run."""
    create_views(spark, find_runs([dual_leader().write(tmp_path_factory.mktemp("viewed"))]))
    return spark


@pytest.mark.spark
def test_every_view_answers_and_has_no_column_of_nothing_but_nulls(viewed: SparkSession) -> None:
    for view in VIEWS:
        viewed.sql(f"SELECT * FROM {view.name}").collect()
        assert view.name in described()


@pytest.mark.spark
def test_views_have_the_columns_that_are_documented(viewed: SparkSession) -> None:
    assert dict(viewed.table(EVENTS).dtypes) == EVENT_COLUMNS
    for view in VIEWS:
        assert dict(viewed.table(view.name).dtypes) == view.types(), view.name


@pytest.mark.spark
def test_an_error_has_its_name(spark: SparkSession) -> None:
    codes = "VALUES (0L), (6L), (-1L), (-2L), (999L), (NULL) AS t(error)"
    rows = spark.sql(f"SELECT {ERROR_NAME_OF} FROM {codes}").collect()
    names = ["NONE", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_SERVER_ERROR", "NO_ANSWER", "UNKNOWN_CODE_999", None]
    assert [row[0] for row in rows] == names


@pytest.mark.spark
@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("SELECT value FROM operations WHERE acks = 1 ORDER BY invoked_ms", [("c",), ("d",), ("e",), ("f",), ("g",)]),
        ("SELECT node, `to`, log_end FROM truncations", [("broker-0", 2, 5)]),
        ("SELECT count(*) FROM logs WHERE node = 'broker-0'", [(4,)]),
        ("SELECT count(*) FROM appends WHERE node = 'broker-0'", [(7,)]),
        ("SELECT count(*) FROM records WHERE node = 'broker-0'", [(7,)]),
        ("SELECT DISTINCT error, error_name FROM operations", [(0, "NONE")]),
        (
            "SELECT node, leader_epoch FROM leadership WHERE role = 'leader' ORDER BY at_ms",
            [("broker-0", 0), ("broker-1", 1)],
        ),
        ("SELECT node FROM controllers WHERE active", [("broker-2",)]),
        ("SELECT leader, leader_epoch FROM led ORDER BY from_ms", [("broker-0", 0), ("broker-1", 1)]),
        (
            "SELECT value, offset, c.node, c.`to` FROM lost LATERAL VIEW explode(cut_by) AS c ORDER BY value",
            [("c", 2, "broker-0", 2), ("d", 3, "broker-0", 2), ("e", 4, "broker-0", 2)],
        ),
    ],
)
def test_views_describe_the_run(viewed: SparkSession, query: str, answer: list[tuple[object, ...]]) -> None:
    assert [tuple(row) for row in viewed.sql(query).collect()] == answer


PAGE = Path(__file__).parents[2] / "docs" / "audit-out.md"


@pytest.mark.spark
def test_out_has_what_its_page_describes(spark: SparkSession, tmp_path: Path) -> None:
    trace, out = healthy(), tmp_path / "out"
    runs = find_runs([trace.write(tmp_path)])
    lost = {"partition": "t-0", "offset": 2, "text": "gone", "acks": 1}
    checks = {"lost-acknowledged": CheckVerdict("violated", True, 3, [lost, {"text": "of the run"}], judged=7)}
    verdict = Verdict("healthy", "x", "sim", "unknown", [], [], checks, {})
    export(spark, runs, [verdict], out)
    read = {name: spark.read.parquet(str(out / name)) for name in ("events", "checks", "violations")}
    assert read["events"].count() == read_events(spark, runs).count() == sum(map(len, trace.files.values()))
    assert [from_json(line) for line in (out / "verdicts.jsonl").read_bytes().splitlines()] == [verdict]
    page = PAGE.read_text(encoding="utf-8")
    for name in ("checks", "violations"):
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.MULTILINE) == read[name].dtypes
    assert [tuple(row) for row in read["checks"].collect()] == [
        ("healthy", "x", "sim", "unknown", "lost-acknowledged", "violated", True, 3, 7, "", "")
    ]
    assert [tuple(row) for row in read["violations"].collect()] == [
        ("healthy", "lost-acknowledged", True, "t-0", 2, "gone", '{"acks":1}'),
        ("healthy", "lost-acknowledged", True, None, None, "of the run", "{}"),
    ]
    assert set(read["events"].columns) == set(FIELDS)


def test_the_outcomes_of_many_runs_are_counted() -> None:
    came_out: list[tuple[Valid, CheckResult]] = [(True, "held"), (False, "violated"), ("unknown", "unknown")]
    reported = [
        Verdict("x", "x", "sim", valid, [], [], {"duplicate": CheckVerdict(check, False, 0, [])}, {})
        for valid, check in (*came_out, came_out[0])
    ]
    assert summary(reported).splitlines() == [
        "4 runs: 2 as expected, 1 NOT as expected, 1 UNKNOWN",
        "  duplicate  violated in 1, unknown in 1",
    ]
