"""Pending requests are answered within their time-out; others are found, and named."""

from emulator.judging.crash_testing.crash_seeds import DeathsOptions, play_seed
from verification.mutants.mutant import applied
from verification.mutants.table import MUTANTS

PLAN = DeathsOptions(("min-insync",), ("2.8",)).plan(1)
FORGETS = MUTANTS["parked-and-forgotten"]


def test_a_request_that_is_parked_past_its_deadline() -> None:
    [found] = [text for text in play_seed(PLAN, applied(FORGETS)).failed if text.startswith("parked")]
    assert found.startswith("parked: broker-0: a request is parked ")
    assert found.endswith(" ms past its deadline (high watermarks t-0:1), one of 3")


def test_no_request_is_parked_past_its_deadline() -> None:
    assert play_seed(PLAN).good
