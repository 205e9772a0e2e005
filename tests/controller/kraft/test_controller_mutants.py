"""Wrong controllers of KRaft: an invariant named for its fault detects each."""

import pytest

from verification.kraft.controller_mutants import CONTROLLER_MUTANTS, broken_by, search

FIRST = {"keeps-unclean-in-elr": 3, "takes-stops-for-clean": 3}
"""{mutant: its first seed, others 0}: earlier seeds have a release without its rule."""


@pytest.mark.parametrize("mutant", CONTROLLER_MUTANTS)
def test_a_wrong_controller_is_detected(mutant: str) -> None:
    assert search(mutant, 6, FIRST.get(mutant, 0))["detected"]


@pytest.mark.parametrize("seed", range(1_000, 1_010))
def test_right_controllers_break_no_invariant(seed: int) -> None:
    assert broken_by(seed) == ""
