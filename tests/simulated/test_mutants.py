"""The judge of deaths finds machines that are wrong on purpose; all of them.
`python -m verification.mutants`.
"""

import pytest
from msgspec.structs import replace

from emulator.judging.crash_testing.crash_seeds import DeathsOptions, play_seed
from emulator.machines.broker.partition import Partition
from verification.mutants.crash_hunt import hunted
from verification.mutants.mutant import applied
from verification.mutants.table import MUTANTS

SOON = (
    "high-watermark-at-log-end",
    "counted-when-sent",
    "acks-all-as-1",
    "joins-behind",
    "new-leader-cuts",
    "isr-before-it-is-recorded",
)
"""Found within a few runs; which ones depends on the catalogue, of which they are drawn."""
FIRST, RUNS = 441, 40


@pytest.mark.parametrize("mutant", SOON)
def test_a_mutant_is_found_and_the_same_run_without_it_is_good(mutant: str) -> None:
    row = hunted(mutant, range(FIRST, FIRST + RUNS), processes=1)
    assert row["found"] is True, row
    assert row["by"].startswith(("lost", "reread")), "for what it loses, and nothing else has to be told"


@pytest.mark.parametrize("mutant", ["keeps-its-tail", "stores-another-record"])
def test_logs_of_old_versions_may_part_by_a_rule_only(mutant: str) -> None:
    """Semantics 8 (KIP-101): before 0.11 no follower compares logs.
    Yet a new one cuts to its high watermark.
    """
    requested = replace(MUTANTS[mutant], versions=("0.10.2",), scenarios=("acks-1-loss",))
    with applied(requested):
        found = [play_seed(DeathsOptions(requested.scenarios, requested.versions).plan(seed)) for seed in range(1, 4)]
    assert any(why.startswith("divergence") for result in found for why in result.failed), found
    for result in found:
        assert play_seed(result.plan).good


def test_mutants_leave_nothing_behind() -> None:
    advance = Partition.advance_high_watermark
    with applied(MUTANTS["high-watermark-at-log-end"]):
        assert Partition.advance_high_watermark is not advance
    assert Partition.advance_high_watermark is advance
