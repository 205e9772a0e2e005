"""The check of docs/how-to-add-a-check.md, run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from audit.audited_run import audit_runs
from audit.checks.check import Check
from audit.expected import Expected
from emulator.runs.verdict_file import CheckVerdict
from tests.audit.trace import Trace, healthy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
DOCUMENT = Path(__file__).parents[2] / "docs" / "how-to-add-a-check.md"


def example() -> Check:
    source, *_ = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    # A module's docstring is its __doc__ only when it is imported; compiled by itself it is the first constant.
    names: dict[str, Any] = {}
    exec(compile(source, "committed_cut", "exec"), names)
    check = names["COMMITTED_CUT"]
    assert isinstance(check, Check)
    return check


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[CheckVerdict]:
    """Of a run with a cut below the high watermark, and of one with a cut above it."""
    below = Trace("below").cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0).produce("b", at=1)
    below.leader(1, epoch=1).truncate(0, 1, log_end=2)
    above = healthy().append(0, "x", at=3, epoch=0, as_leader=True).leader(1, epoch=1).truncate(0, 3, log_end=4)
    folder: Path = tmp_path_factory.mktemp("how-to")
    runs, checks = [trace.write(folder) for trace in (below, above)], (example(),)
    verdicts = audit_runs(spark, runs, expected=lambda _: Expected(), scratch=str(folder / "scratch"), checks=checks)
    return [verdict.checks["committed-cut"] for verdict in verdicts]


def test_the_how_tos_check_rejects_what_it_defines(judged: list[CheckVerdict]) -> None:
    [check, _] = judged
    assert (check.verdict, check.count) == ("violated", 1)
    assert check.evidence[0]["offset"] == 1


def test_the_how_tos_check_accepts_a_cut_above_the_high_watermark(judged: list[CheckVerdict]) -> None:
    assert judged[1].verdict == "held"


def test_the_how_tos_check_has_a_definition_for_the_documents() -> None:
    assert example().definition.startswith("Committed cut:")
