"""The commands: bad input is one sentence and a code, and the views answer what their words say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.commands import audit_command, report_command, verdict_text
from audit.events import read_events
from audit.export import export
from audit.input import AuditInputError, find_runs
from audit.run import write_verdict
from audit.views import VIEWS, create_views, described
from emulator.runs.verdict import CheckVerdict, Verdict
from tests.audit.conftest import Audit
from tests.audit.trace import dual_leader, healthy


@pytest.mark.parametrize(
    ("given", "said"),
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
    given: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dual_leader().write(tmp_path)
    (tmp_path / "plain").mkdir()
    (tmp_path / "file").touch()
    assert audit_command([one.format(tmp=tmp_path) for one in given]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert said.format(tmp=tmp_path) in err


def test_a_report_of_no_run_is_unusable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report_command(str(tmp_path / "nothing")) == 2
    assert "no such directory" in capsys.readouterr().err


def test_a_report_tells_as_json_where_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = healthy().write(tmp_path)
    write_verdict(Verdict("healthy", "x", "sim", "unknown", [], [], {}, {}), run)
    assert report_command(str(run), json=True) == 0
    told = {"run": "healthy", "report": str(run / "report.html"), "valid": "unknown"}
    assert json.loads(capsys.readouterr().out) == told
    (run / "verdict.json").unlink()
    assert report_command(str(run), json=True) == 2
    said = capsys.readouterr()
    assert said.out == "" and "has no verdict.json yet" in said.err


def test_a_scenario_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    from audit.expected import expected_of

    run = healthy().write(tmp_path)
    (run / "scenario.yaml").write_text("id: x\nsteps: nothing\n")
    with pytest.raises(AuditInputError, match=r"scenario\.yaml: not a scenario"):
        expected_of(run)
    (run / "settings.json").write_text("{")
    with pytest.raises(AuditInputError, match=r"settings\.json: not JSON"):
        expected_of(run)
    (run / "settings.json").write_text('{"settings": {"dropped": 1}}')
    with pytest.raises(AuditInputError, match=r"settings\.json: settings: Expected `array`, got `int`"):
        expected_of(run)
    for name in ("settings.json", "scenario.yaml"):
        (run / name).unlink()
        (run / name).symlink_to("elsewhere")
        with pytest.raises(AuditInputError, match=rf"{name}: cannot be read: is a symbolic link; only regular files"):
            expected_of(run)
        (run / name).unlink()


@pytest.mark.spark
def test_the_text_of_a_verdict_names_what_was_found(audit: Audit) -> None:
    text = verdict_text(audit(dual_leader(), violations={"lost-acknowledged": True}))
    assert "lost-acknowledged         violated 3 (acks=1: 3) of 7 acknowledged records (expected)" in text
    assert "'c' of client-0.1:3 was acknowledged" in text
    assert "dual-leader               violated 1" in text


def test_evidence_names_its_partition() -> None:
    """Two partitions may have the very same to tell."""
    told = [{"partition": f"t-{n}", "text": "two leaders"} for n in (0, 1)] + [{"text": "of the whole run"}]
    verdict = Verdict("x", "x", "sim", False, [], [], {"dual-leader": CheckVerdict("violated", False, 3, told)}, {})
    lines = verdict_text(verdict).splitlines()
    assert lines[-3:] == ["    t-0: two leaders", "    t-1: two leaders", "    of the whole run"]


def test_the_text_of_a_cluster_that_stays_says_what_was_violated_for_nobody_expected_anything() -> None:
    """Such a run has no scenario."""
    checks = {"dual-leader": CheckVerdict("violated", False, 1, []), "duplicate": CheckVerdict("held", False, 0, [])}
    broken = Verdict("live", "", "network", False, [], [], checks, {})
    assert verdict_text(broken).splitlines()[0] == "live: violated: dual-leader"
    held = Verdict("live", "", "network", True, [], [], {"duplicate": CheckVerdict("held", False, 0, [])}, {})
    assert verdict_text(held).splitlines()[0] == "live: every check held"


@pytest.mark.spark
def test_every_view_answers_and_has_no_column_of_nothing_but_nulls(spark: object, tmp_path: Path) -> None:
    runs = find_runs([dual_leader().write(tmp_path)])
    create_views(spark, runs)  # type: ignore[arg-type]
    for view in VIEWS:
        spark.sql(f"SELECT * FROM {view.name}").collect()  # type: ignore[attr-defined]
        assert view.name in described()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("SELECT value FROM operations WHERE acks = 1 ORDER BY invoked_ms", [("c",), ("d",), ("e",), ("f",), ("g",)]),
        ("SELECT node, `to`, log_end FROM truncations", [("broker-0", 2, 5)]),
        ("SELECT count(*) FROM logs WHERE node = 'broker-0'", [(4,)]),
        ("SELECT count(*) FROM records WHERE node = 'broker-0'", [(7,)]),
        (
            "SELECT node, leader_epoch FROM leadership WHERE role = 'leader' ORDER BY at_ms",
            [("broker-0", 0), ("broker-1", 1)],
        ),
        ("SELECT node FROM controllers WHERE active", [("broker-2",)]),
    ],
)
def test_views_tell_the_run(spark: object, tmp_path: Path, query: str, answer: list[tuple[object, ...]]) -> None:
    create_views(spark, find_runs([dual_leader().write(tmp_path)]))  # type: ignore[arg-type]
    assert [tuple(row) for row in spark.sql(query).collect()] == answer  # type: ignore[attr-defined]


@pytest.mark.spark
def test_out_holds_all_events_and_verdicts(audit: Audit, spark: object, tmp_path: Path) -> None:
    verdict = audit(healthy())
    runs = find_runs([tmp_path / "healthy"])
    export(spark, runs, [verdict], tmp_path / "out")  # type: ignore[arg-type]
    kept = spark.read.parquet(str(tmp_path / "out" / "events"))  # type: ignore[attr-defined]
    assert kept.count() == read_events(spark, runs).count() == verdict.measures["events"]  # type: ignore[arg-type]
    assert (tmp_path / "out" / "verdicts.jsonl").read_bytes().count(b"\n") == 1
