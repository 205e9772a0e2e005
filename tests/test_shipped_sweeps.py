"""docs/isr-flapping.md and docs/incident-remedies.md.

Cells of their tables are reproducible.
"""

import random
from functools import cache

import msgspec
import pytest

from verification.shipped_sweeps import NAMES, RESULTS, Cell, CellWorker

DRAWN = 2
"""Cells of each sweep that are played again."""
SEED = 14


@cache
def shown() -> dict[str, list[Cell]]:
    return msgspec.json.decode(RESULTS.read_bytes(), type=dict[str, list[Cell]])


def drawn(name: str) -> list[int]:
    """Thousands of records in a cell of isr-flapping: one of it."""
    return random.Random(SEED).sample(range(len(shown()[name])), 1 if name == "isr-flapping" else DRAWN)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name == "isr-flapping" else ()) for name in NAMES],
)
def test_what_a_page_shows_is_played_again_and_the_same(name: str) -> None:
    worker = CellWorker(name)
    assert worker.space.cells == len(shown()[name])
    for number in drawn(name):
        again = "python -m verification.shipped_sweeps, make docs"
        assert worker.play(number) == (number, shown()[name][number]), again
