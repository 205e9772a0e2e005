"""Plays seeds with a wrong quorum until one breaks, then the same seed with a correct one."""

from __future__ import annotations

from typing import Any

from verification.mutants.mutant import applied
from verification.quorum.quorum_mutants import QUORUM_MUTANTS
from verification.quorum.quorum_seeds import play_quorum_seed


def search(name: str, seeds: int, first: int = 1) -> dict[str, Any]:
    """The first seed that breaks an invariant of the mutant's.

    `detected`: there is one, and the correct quorum is good with that seed.
    """
    mutant = QUORUM_MUTANTS[name]
    row: dict[str, Any] = {"mutant": name, "wrong": mutant.wrong, "by": "", "seed": 0, "detected": False}
    for seed in range(first, first + seeds):
        with applied(mutant):
            wrong = play_quorum_seed(seed)
        if wrong.broken in mutant.invariants:
            right = play_quorum_seed(seed)
            return row | {"by": wrong.broken, "seed": seed, "detected": not right.broken}
    return row
