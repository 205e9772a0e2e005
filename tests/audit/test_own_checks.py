"""Checks of one's own: a file, or an installed package; what is wrong with them is one line."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from audit.audited_run import audit_runs
from audit.checks.check_registry import CHECKS
from audit.checks.own import GROUP, all_checks
from audit.commands import audit_command
from audit.input import AuditInputError
from tests.audit.trace import Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
POINT = EntryPoint("dual", "audit.checks.dual_leader:CHECK", GROUP)


@pytest.fixture
def committed_cut(tmp_path: Path) -> Path:
    """The one of docs/how-to-add-a-check.md."""
    page = (ROOT / "docs" / "how-to-add-a-check.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?CHECK = .*?)```", page, re.DOTALL)
    assert found is not None
    file = tmp_path / "committed_cut.py"
    file.write_text(found[1], encoding="utf-8")
    return file


def cut(trace: Trace) -> Trace:
    trace.cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0).produce("b", at=1)
    return trace.leader(1, epoch=1).truncate(0, 1, log_end=2)


@pytest.mark.spark
def test_a_file_is_a_check_beside_ours_and_one_that_fails_is_alone(
    spark: SparkSession, committed_cut: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(committed_cut.read_text().replace("FROM rest", "FROM nowhere").replace("committed-cut", "broken"))
    run = cut(Trace()).write(tmp_path)
    checks = all_checks([committed_cut, broken], [])
    assert [check.name for check in checks] == [*CHECKS, "committed-cut", "broken"]
    [verdict] = audit_runs(spark, [run], scratch=str(tmp_path / "scratch"), checks=checks[-3:])
    found = verdict.checks["committed-cut"]
    assert (found.verdict, found.count) == ("violated", 1)
    assert found.evidence[0]["text"] == "broker-0 cut its log to 1, below its own high watermark 2"
    assert verdict.checks["broken"].verdict == "unknown" and "nowhere" in verdict.checks["broken"].reason


def test_a_package_names_its_own(committed_cut: Path) -> None:
    assert [check.name for check in all_checks([], [])] == list(CHECKS)
    with pytest.raises(AuditInputError, match=r"^dual \(faultline.checks\): .*'dual-leader' is there already, by f"):
        all_checks([], [POINT])
    with pytest.raises(AuditInputError, match=r"^x \(faultline.checks\): os:getcwd is no audit.checks.check.Check$"):
        all_checks([], [EntryPoint("x", "os:getcwd", GROUP)])
    with pytest.raises(AuditInputError, match=r"^x \(faultline.checks\): ModuleNotFoundError: .*nowhere"):
        all_checks([], [EntryPoint("x", "nowhere:CHECK", GROUP)])
    with pytest.raises(AuditInputError, match=rf"'committed-cut' is there already, by {committed_cut}$"):
        all_checks([committed_cut, committed_cut], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"wrong\.py: no Check in it; define one, such as COMMITTED_CUT = Check"),
        ("x = (\n", r"wrong\.py:1: SyntaxError: "),
        ("1 / 0\n", r"wrong\.py: ZeroDivisionError: "),
    ],
)
def test_a_file_that_is_none_is_one_line_and_code_2(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(text)
    assert audit_command([str(tmp_path)], own=[file]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert re.search(message, line)


@pytest.mark.parametrize("name", ["nowhere.py", "check.sql"])
def test_a_missing_file_or_one_without_python_is_reported(name: str, tmp_path: Path) -> None:
    (tmp_path / "check.sql").touch()
    with pytest.raises(AuditInputError, match=rf"--check .*{name}: no (such|\.py) file; a check is Python"):
        all_checks([tmp_path / name], [])


def test_a_name_is_what_verdicts_can_hold(committed_cut: Path) -> None:
    committed_cut.write_text(committed_cut.read_text().replace('"committed-cut"', '"it\'s"'))
    with pytest.raises(AuditInputError, match="is no name of a check; such as committed-cut"):
        all_checks([committed_cut], [])
