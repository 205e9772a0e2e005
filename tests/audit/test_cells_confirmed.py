"""Spark confirms every published cell of the oracle: faultline's sweeps, from their events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from audit.audited_run import audit_runs
from emulator.cli.commands.run_simulated import judge_into
from emulator.judging.campaigns.campaign_runs import CampaignOptions, CampaignWorker, Cells
from emulator.judging.campaigns.space import all_of
from emulator.judging.campaigns.sweeps import find_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.long
@pytest.mark.spark
def test_spark_confirms_every_cell_of_the_cap_choice_matrix(spark: SparkSession, tmp_path: Path) -> None:
    sweep = find_sweep("cap-choice")
    assert sweep is not None
    requested = CampaignOptions(sweep.space)
    cells, worker = Cells(requested), CampaignWorker(requested)
    rows, paths = [], []
    for number in all_of(sweep.space):
        draw = sweep.space.draw(number)
        path = tmp_path / f"run-{number}"
        path.mkdir()
        judge_into(path, cells.resolved(draw), draw.seed)
        rows.append(worker.play(number))
        paths.append(path)
    for row, verdict in zip(rows, audit_runs(spark, paths, scratch=str(tmp_path / "scratch")), strict=True):
        by_spark = {name: (check.verdict, check.count) for name, check in verdict.checks.items()}
        assert {one.check: (one.verdict, one.count) for one in row.checks} == by_spark, row.replay
        assert verdict.measures["unavailable_ms"] == row.unavailable_ms, row.replay
