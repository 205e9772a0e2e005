"""The judge of deaths finds machines that are wrong on purpose; all of them: `python -m benchmarks.judge_mutants`."""

import pytest

from benchmarks.judge_mutants import hunted
from benchmarks.mutants import MUTANTS, applied
from emulator.broker.partition import Partition

SOON = (
    "high-watermark-at-log-end",
    "counted-when-sent",
    "acks-all-as-1",
    "joins-behind",
    "new-leader-cuts",
    "isr-before-it-is-recorded",
)
"""Found within a few runs."""
RUNS = 40


@pytest.mark.parametrize("mutant", SOON)
def test_a_mutant_is_found_and_the_same_run_without_it_is_good(mutant: str) -> None:
    row = hunted(mutant, range(1, RUNS + 1), processes=1)
    assert row["found"] is True, row
    assert row["by"].startswith(("lost", "reread")), "for what it loses, and nothing else has to be told"


def test_mutants_leave_nothing_behind() -> None:
    advance = Partition.advance_high_watermark
    with applied(MUTANTS["high-watermark-at-log-end"]):
        assert Partition.advance_high_watermark is not advance
    assert Partition.advance_high_watermark is advance
