"""Sums up rows by cell: of each measure the share above zero, and its spread over the seeds.

Pure.

A cell keeps eight bytes per measure and run, and of each broken promise the first run that breaks it.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import NoneType
from typing import Final, get_args

import msgspec

from emulator.check_table import CHECKS
from emulator.judging.campaigns.row import Row, described
from emulator.scenario.missed_waits import whenever

MEASURES: Final = tuple(name for name, (kind, _) in described(Row).items() if NoneType in get_args(kind))
"""Measures of a run: the row's numbers that may be null."""
UNAVAILABLE: Final = "unavailable_ms"
"""Measured by AZ: the measure is called `unavailable_ms.az-0`."""
HARM: Final = ("lost", "duplicated", "reordered", "diverged")
"""Measures whose every value above zero is harm."""
PROMISES: Final = tuple(CHECKS)
REASONS_MAX: Final = 5
OUTCOMES_MAX: Final = 1_000
"""Maximum of different outcomes in one cell."""


class Spread(msgspec.Struct, frozen=True):
    """Spread of one measure over a cell's runs.

    `runs`: count of runs with a value; `above`: count of those above zero. `low`, `median`, `high`: None without
    values.
    """

    runs: int
    above: int
    low: float | None
    median: float | None
    high: float | None

    @property
    def share(self) -> float:
        return self.above / self.runs if self.runs else 0.0


class Broken(msgspec.Struct, frozen=True):
    """A promise that a cell's runs broke: `runs` of `of` conclusive runs.

    `replay`: of the first.
    """

    check: str
    runs: int
    of: int
    replay: str


class Outcome(msgspec.Struct):
    """Runs of a cell with the same outcome: their count, and the first."""

    runs: int
    seed: int
    replay: str


class Cell:
    """One choice of version, settings and parameters, and the results of its runs."""

    def __init__(self, row: Row) -> None:
        self.number, self.scenario, self.kafka_version = row.cell, row.scenario, row.kafka_version
        self.settings, self.parameters = row.settings, row.parameters
        self.replay = row.replay
        self.runs = self.judged = 0
        self.unknown: Counter[str] = Counter()
        """{reason of inconclusive runs: count}"""
        self.outcomes: dict[str, Outcome] = {}
        self._violated: Counter[str] = Counter()
        self._conclusive: Counter[str] = Counter()
        self._first: dict[str, tuple[int, str]] = {}
        self._values: dict[str, array[float]] = {}
        self._first_seed = row.seed

    def add(self, row: Row) -> None:
        """Add a row, in any order."""
        self.runs += 1
        if row.seed < self._first_seed:
            self._first_seed, self.replay = row.seed, row.replay
        if not row.judged:
            # Each reason once per run: two cuts of one link have the same reason if neither met traffic.
            reasons = dict.fromkeys(whenever(why) for why in (row.error, *row.unknown_because) if why)
            self.unknown.update(list(reasons)[:REASONS_MAX])
            return
        self.judged += 1
        for name, value in _measured(row):
            self._values.setdefault(name, array("d")).append(value)
        for one in row.checks:
            self._conclusive[one.check] += one.verdict in ("held", "violated")
            if one.verdict == "violated":
                self._violated[one.check] += 1
                self._first[one.check] = min(self._first.get(one.check, (row.seed, row.replay)), (row.seed, row.replay))
        self._outcome(row)

    def _outcome(self, row: Row) -> None:
        known = self.outcomes.get(row.outcome)
        if known is None:
            if len(self.outcomes) < OUTCOMES_MAX:
                self.outcomes[row.outcome] = Outcome(1, row.seed, row.replay)
            return
        known.runs += 1
        if row.seed < known.seed:
            known.seed, known.replay = row.seed, row.replay

    @property
    def broken(self) -> tuple[Broken, ...]:
        """Broken promises, in the order of the checks."""
        return tuple(
            Broken(name, self._violated[name], self._conclusive[name], self._first[name][1])
            for name in PROMISES
            if self._violated[name]
        )

    @property
    def measures(self) -> tuple[str, ...]:
        """Measures with a value in at least one run."""
        return tuple(name for name in ordered(self._values))

    def spread(self, measure: str) -> Spread:
        values = sorted(self._values.get(measure, ()))
        if not values:
            return Spread(0, 0, None, None, None)
        middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
        above = sum(value > 0 for value in values)
        return Spread(len(values), above, values[0], round(middle, 3), values[-1])


def cells_of(rows: Iterable[Row]) -> list[Cell]:
    """Cells in the order of their numbers."""
    cells: dict[int, Cell] = {}
    for row in rows:
        add_to(cells, row)
    return [cells[number] for number in sorted(cells)]


def add_to(cells: dict[int, Cell], row: Row) -> None:
    """Add a row to `cells`, {number: cell}."""
    cells.setdefault(row.cell, Cell(row)).add(row)


def ordered(measures: Iterable[str]) -> list[str]:
    """Measures in the order of the row's fields, unavailability by AZ."""
    fields = Row.__struct_fields__
    return sorted(set(measures), key=lambda name: (fields.index(name.partition(".")[0]), name))


def measures_of(cells: Iterable[Cell]) -> list[str]:
    """Measures of all cells, in order."""
    return ordered({name for cell in cells for name in cell.measures})


def axes_of(cells: Iterable[Cell]) -> dict[str, list[str]]:
    """{axis that differs between cells: its values}; `kafka_version`, settings, parameters."""
    found: dict[str, dict[str, None]] = {}
    cells = list(cells)
    for cell in cells:
        for name, value in choice_of(cell).items():
            found.setdefault(name, {})[value] = None
    everywhere = {name for name in found if all(name in choice_of(cell) for cell in cells)}
    return {name: list(values) for name, values in found.items() if len(values) > 1 or name not in everywhere}


def choice_of(cell: Cell) -> Mapping[str, str]:
    """{axis: the cell's value}, whether or not it differs between cells."""
    return {"kafka_version": cell.kafka_version, **cell.settings, **cell.parameters}


def _measured(row: Row) -> Iterator[tuple[str, float]]:
    for name in MEASURES:
        value = getattr(row, name)
        if value is not None:
            yield name, float(value)
    for az, ms in row.unavailable_ms.items():
        if ms is not None:
            yield f"{UNAVAILABLE}.{az}", ms
