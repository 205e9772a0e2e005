"""Runs of earlier versions of faultline are audited as they were.

Tests/audit/runs_of_before.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from emulator.cli.commands.explain import lives_of
from emulator.runs.run_events import read
from tests.audit.conftest import Audit

pytestmark = pytest.mark.spark
RUNS = Path(__file__).parent / "runs_of_before"


def test_a_run_whose_batches_are_reported_record_by_record(audit: Audit, tmp_path: Path) -> None:
    """A Kafka client wrote a batch of 5 records, each an operation then.

    A batch of 40 records was one operation.
    """
    run = Path(shutil.copytree(RUNS / "listener-before-batches", tmp_path / "listener-before-batches"))
    verdict = audit(run)
    assert (verdict.valid, verdict.unknown_because, verdict.quarantine.lines) == (True, [], 0)
    assert {check.verdict for check in verdict.checks.values()} == {"held", "skipped"}
    assert verdict.checks["lost-acknowledged"].judged == 5 + 1
    followed = ("operation_invoked", "attempt_sent", "attempt_ended", "operation_ended", "batch_appended")
    [life] = lives_of(list(read(run, followed)), "small-3").values()
    assert [moment.text for moment in life if "acknowledged" in moment.text] == ["attempt 1: acknowledged at offset 3"]
