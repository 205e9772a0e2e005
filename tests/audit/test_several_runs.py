"""Several runs at once: one that cannot be audited is named, and the others are judged."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from audit import commands, sql_command
from audit.audited_run import audit_runs, write_verdict
from audit.checks.check import Check
from audit.checks.check_registry import CHECKS
from audit.commands import audit_command, report_command
from audit.input import AuditInputError, find_run, find_runs, look_for_runs
from audit.opened import opened
from emulator.cli.app import _command
from emulator.judging.ci_reports import CiReports
from emulator.runs.verdict_file import Verdict
from tests.audit.trace import dual_leader, healthy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POISONED = Check(
    name="poisoned", title="x", definition="x", levels=("replica",), needs=(), subject="batches",
    subjects=lambda counts: counts["batch_appended"],
    violations="""SELECT run, topic, partition, base_offset AS offset, '{}' AS details,
      IF(run LIKE '%dual%', raise_error('poison'), 'x') AS text FROM appends""",
)  # fmt: skip


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Path]:
    """{what is wrong: its run}."""
    made = {name: healthy().write(tmp_path / name) for name in ("torn", "format", "scenario", "link")}
    made = {name: path.rename(tmp_path / f"run-{name}") for name, path in made.items()}
    events = sorted((made["torn"] / "events").iterdir())
    events[0].write_bytes(events[0].read_bytes()[:-9])
    (made["format"] / "settings.json").write_text("{")
    (made["scenario"] / "scenario.yaml").write_bytes(b"\xff")
    first = sorted((made["link"] / "events").iterdir())[0]
    first.unlink()
    first.symlink_to("/etc/hostname")
    empty = tmp_path / "run-empty"
    empty.mkdir()
    (empty / "scenario.yaml").touch()
    return {**made, "dual": dual_leader().write(tmp_path), "empty": empty, "none": tmp_path / "run-none"}


BAD = ("format", "scenario", "link", "empty", "none")


@pytest.fixture
def tests_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands take the tests' Spark."""

    @contextmanager
    def here(*_: Any, **__: Any) -> Iterator[tuple[SparkSession, Path]]:
        yield spark, tmp_path / "scratch"

    monkeypatch.setattr(commands, "spark_of", here)


@pytest.mark.spark
def test_the_other_runs_are_judged(
    runs: dict[str, Path], tests_spark: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machines = CiReports(tmp_path / "junit.xml", None)
    assert audit_command([str(path) for path in runs.values()], json=True, ci_reports=machines) == 2
    out, err = capsys.readouterr()
    verdicts = {one["run"]: one for one in json.loads(out)}
    assert [name for name, one in verdicts.items() if one["checks"]] == ["run-torn", "dual-leader"]
    assert verdicts["dual-leader"]["checks"]["dual-leader"]["verdict"] == "violated"
    for name in BAD:
        path = runs[name]
        [line] = [line for line in err.splitlines() if str(path) in line]
        assert line.startswith("faultline audit: ")
        of_run = verdicts.get(path.name) or verdicts[str(path)]
        assert of_run["valid"] == "unknown" and str(path) in of_run["unknown_because"][0]
        assert not (path / "verdict.json").exists()
    assert (runs["dual"] / "verdict.json").exists() and (runs["torn"] / "report.html").exists()
    assert len(ElementTree.parse(tmp_path / "junit.xml").getroot().findall("testsuite")) == len(runs)


@pytest.mark.spark
def test_a_query_is_answered_from_the_other_runs(
    runs: dict[str, Path], tests_spark: None, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(runs["dual"]), str(runs["none"])]
    assert sql_command.sql_command(given, "SELECT count(*) > 0 AS some FROM events", shape="json") == 2
    out, err = capsys.readouterr()
    assert json.loads(out) == [{"some": True}] and str(runs["none"]) in err


@pytest.mark.spark
def test_a_run_whose_events_a_check_fails_on_is_alone(spark: SparkSession, tmp_path: Path) -> None:
    paths = [healthy().write(tmp_path), dual_leader().write(tmp_path)]
    well, ill = audit_runs(
        spark, paths, scratch=str(tmp_path / "scratch"), checks=(POISONED, CHECKS["dual-leader"])
    )
    assert well.checks["poisoned"].verdict == "violated"
    assert ill.checks["poisoned"].verdict == "unknown" and "poison" in ill.checks["poisoned"].reason
    assert ill.checks["dual-leader"].verdict == "violated"


def test_where_none_can_be_audited_each_is_named(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert audit_command([str(runs[name]) for name in BAD]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == len(BAD)
    assert all(any(str(runs[name]) in line for line in err.splitlines()) for name in BAD)


def test_a_run_that_cannot_take_a_verdict_is_refused_before_spark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = healthy().write(tmp_path)
    (run / "quarantine.jsonl").mkdir()
    assert audit_command([str(run)]) == 2
    assert f"{run / 'quarantine.jsonl'}: is a directory" in capsys.readouterr().err


def test_a_directory_of_runs_is_its_runs(runs: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "advice").mkdir()
    found, unusable = look_for_runs([tmp_path])
    assert {run.path for run in found} == {runs[name] for name in ("torn", "format", "scenario", "dual")}
    assert {one.name for one in unusable} == {"run-link", "run-empty"}
    with pytest.raises(AuditInputError, match="run-empty"):
        find_runs([tmp_path])
    with pytest.raises(AuditInputError, match="2 runs; name one of them"):
        find_run(tmp_path / "run-[ft]o*")


def test_of_several_reports_the_others_are_written(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_verdict(Verdict("x", "x", "sim", "unknown", [], [], {}, {}), runs["torn"])
    (runs["format"] / "verdict.json").write_text("{")
    assert report_command(str(tmp_path / "run-[ft]o*"), json=True) == 2
    out, err = capsys.readouterr()
    assert [one["report"] for one in json.loads(out)] == [str(runs["torn"] / "report.html")]
    assert f"{runs['format'] / 'verdict.json'}: cannot be read as a verdict" in err


def test_a_question_to_no_run_is_refused(runs: dict[str, Path]) -> None:
    with pytest.raises(AuditInputError, match="run-none"):
        opened([str(runs["none"])])


def test_a_run_is_compared_with_the_other_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden = Path(__file__).parents[1] / "golden" / "az-isolated-leader@2.8" / "1.json"
    torn = tmp_path / "torn.json"
    torn.write_bytes(golden.read_bytes()[:-9])
    assert _command(["compare", str(golden), str(torn), str(tmp_path / "none.json"), str(golden)]) == 2
    out, err = capsys.readouterr()
    assert f"equals {golden}" in out
    assert [line.split(": ")[1] for line in err.splitlines()] == [str(torn), str(tmp_path / "none.json")]
    assert _command(["compare", str(golden), str(torn)]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, 3), (errno.EFBIG, 3), (errno.EACCES, 2), (errno.EROFS, 2)])
def test_results_without_room_are_unknown_and_others_unusable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    def fails(verdict: Verdict, home: Path) -> None:
        raise OSError(number, os.strerror(number), str(home / "verdict.json"))

    monkeypatch.setattr("audit.audited_run.write_verdict", fails)
    verdict = Verdict("r", "", "network", True, [], [], {}, {})
    [run] = commands._kept(tmp_path, verdict, tmp_path, report=False)
    assert (run.code, run.name) == (code, tmp_path.name)
    assert run.why == f"{tmp_path}/verdict.json: cannot be written: {os.strerror(number)}"
