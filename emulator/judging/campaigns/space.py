"""A space of runs, and ways to draw from it.

A space is a scenario and *axes*: versions, settings and parameters of its steps, each with a list of values. Every
choice of one value per axis is a *cell*, and each cell is played with every seed. Runs have numbers, a cell's seeds
side by side, the first axis slowest. So one number identifies a run, and no list of runs is stored.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from math import prod
from random import Random
from typing import Literal

import msgspec

from emulator.runs.deployment_options import SEED_MAX

RUNS_MAX = 10_000_000
SEEDS_MAX = 1_000_000
AXES_MAX = 12
VALUES_MAX = 1_000
"""Maximum of values of one axis."""

Kind = Literal["version", "setting", "parameter"]


class UnusableSpace(ValueError):
    """An invalid axis or range of seeds; one line."""


class Axis(msgspec.Struct, frozen=True):
    """An axis. `name`: of a setting or parameter; of versions `kafka_version`.

    `values`: as the user wrote them.
    """

    kind: Kind
    name: str
    values: tuple[str, ...]


class Draw(msgspec.Struct, frozen=True):
    """One run: everything a command line needs to play it. `chosen`: {axis: its value}."""

    number: int
    cell: int
    seed: int
    kafka_version: str | None
    overrides: tuple[str, ...]
    parameters: tuple[str, ...]
    chosen: dict[str, str]


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """A space.

    `overrides`, `parameters`, `settings_files`: common to all runs, as words of the command line. `metadata`: the
    requested mode of all runs, "" the default of each run's version.
    """

    scenario: str
    axes: tuple[Axis, ...] = ()
    first_seed: int = 1
    seeds: int = 1
    kafka_version: str | None = None
    overrides: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    settings_files: tuple[str, ...] = ()
    metadata: str = ""

    @property
    def versions(self) -> tuple[str | None, ...]:
        """Versions of the runs; None: the scenario's own."""
        return next((axis.values for axis in self.axes if axis.kind == "version"), (self.kafka_version,))

    @property
    def cells(self) -> int:
        return prod(len(axis.values) for axis in self.axes)

    @property
    def runs(self) -> int:
        return self.cells * self.seeds

    def each_value(self) -> Iterator[int]:
        """Cells with every value of every axis in every version, other axes at their first value."""
        steps = {
            axis.name: prod(len(one.values) for one in self.axes[place:]) for place, axis in enumerate(self.axes, 1)
        }
        versions = [axis for axis in self.axes if axis.kind == "version"]
        for version in range(len(versions[0].values)) if versions else (0,):
            base = version * steps[versions[0].name] if versions else 0
            for axis in self.axes:
                if axis.kind != "version":
                    yield from (base + place * steps[axis.name] for place in range(len(axis.values)))
            yield base

    def draw(self, number: int) -> Draw:
        """The run of that number, from 0."""
        cell, seed = divmod(number, self.seeds)
        assert 0 <= cell < self.cells, number
        chosen, rest = {}, cell
        for axis in reversed(self.axes):
            rest, place = divmod(rest, len(axis.values))
            chosen[axis.name] = axis.values[place]
        chosen = {axis.name: chosen[axis.name] for axis in self.axes}
        words = {kind: _words(self.axes, kind, chosen) for kind in ("setting", "parameter")}
        return Draw(
            number=number,
            cell=cell,
            seed=self.first_seed + seed,
            kafka_version=chosen.get("kafka_version", self.kafka_version),
            overrides=(*self.overrides, *words["setting"]),
            parameters=(*self.parameters, *words["parameter"]),
            chosen=chosen,
        )

    def replay(self, draw: Draw) -> str:
        """Command line that replays one run completely."""
        words = ["faultline", "run", self.scenario, "--world", "sim", "--seed", str(draw.seed)]
        given = (
            ("--kafka-version", () if draw.kafka_version is None else (draw.kafka_version,)),
            ("--metadata", (self.metadata,) if self.metadata else ()),
            ("--set", draw.overrides), ("--param", draw.parameters), ("--settings", self.settings_files),
        )  # fmt: skip
        return shlex.join([*words, *(word for option, values in given for value in values for word in (option, value))])


def parse_seeds(given: str) -> range:
    """A range from `1..200`, both included, or `7`. Raises UnusableSpace."""
    match = re.fullmatch(r"\s*(\d+)\s*(?:\.\.\s*(\d+)\s*)?", given)
    if match is None:
        raise UnusableSpace(f"--seeds {given}: expected A..B, such as 1..200")
    words = match[1], match[2] or match[1]
    if any(len(word) > len(str(SEED_MAX)) or int(word) > SEED_MAX for word in words):
        raise UnusableSpace(f"--seeds {given}: from 0 to {SEED_MAX}")
    first, last = map(int, words)
    if last < first:
        raise UnusableSpace(f"--seeds {given}: the last is before the first")
    if last - first >= SEEDS_MAX:
        raise UnusableSpace(f"--seeds {given}: more than {SEEDS_MAX} seeds")
    return range(first, last + 1)


def _words(axes: Sequence[Axis], kind: str, chosen: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{axis.name}={chosen[axis.name]}" for axis in axes if axis.kind == kind)


def checked(space: Space) -> Space:
    """The space itself.

    Raises UnusableSpace: an axis has no value or one twice, or a limit is exceeded.
    """
    if len(space.axes) > AXES_MAX:
        raise UnusableSpace(f"{len(space.axes)} axes: at most {AXES_MAX}")
    fixed = {word.partition("=")[0].strip() for word in (*space.overrides, *space.parameters)}
    names: set[str] = set()
    for axis in space.axes:
        if axis.name in names | fixed:
            raise UnusableSpace(f"{axis.name}: duplicate axis; give its values in one word, A,B")
        names.add(axis.name)
        twice = [value for number, value in enumerate(axis.values) if value in axis.values[:number]]
        if not axis.values or "" in axis.values:
            raise UnusableSpace(f"{axis.name}: a value is empty; expected {axis.name}=A,B")
        if twice:
            raise UnusableSpace(f"{axis.name}: has {twice[0]} twice")
        if len(axis.values) > VALUES_MAX:
            raise UnusableSpace(f"{axis.name}: {len(axis.values)} values; at most {VALUES_MAX}")
    if space.first_seed + space.seeds - 1 > SEED_MAX:
        raise UnusableSpace(f"seed {space.first_seed + space.seeds - 1}: the largest is {SEED_MAX}")
    if space.runs > RUNS_MAX:
        raise UnusableSpace(f"{space.cells} cells of {space.seeds} seeds: at most {RUNS_MAX} runs in all")
    return space


# --- ways to draw ---


def all_of(space: Space) -> range:
    """Numbers of all runs."""
    return range(space.runs)


def some_of(space: Space, count: int, seed: int = 1) -> list[int]:
    """Numbers of `count` different runs, drawn from `seed`, sorted. A sample, never a proof."""
    return sorted(Random(seed).sample(range(space.runs), min(count, space.runs)))
