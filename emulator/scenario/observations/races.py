"""Races: outcomes that a rule of Kafka's allows though no recording shows them.

A scenario file names such a race, the rule, and exactly which leaves of a recording it changes, from which
value to which, and which entries it adds. A run is equal "by race" if the recording, with every substitution and
addition of the race made, equals it in every other respect too. They are all or nothing, and each must find its place:
a race widens what is right by the outcomes written down and by nothing else.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import msgspec

from emulator.scenario.observations.alignment import Difference
from emulator.scenario.observations.comparable import Comparable, comparable, same
from emulator.scenario.observations.observation_model import Entry, Observations
from emulator.scenario.observations.recording_comparison import compare_reduced
from protocol.numbers import number_in

MAX_RACES = 7
"""In one scenario: all combinations are tried, 2 ** 7 of them."""

SECTIONS = ("timeline", "partition_states", "controllers", "truncations")


class Substitution(msgspec.Struct, frozen=True, kw_only=True):
    """A replaced leaf of a recording.

    In the entries of section `of` whose keys have the values in `where`, the leaf at `leaf` (`error`,
    `replicas.broker-0.leader_epochs.1`: a number is an index) may be `instead` of `recorded`.

    For example: attempts of x at broker-0, `error` 6 instead of 0.
    """

    of: str
    where: dict[str, Any]
    leaf: str
    recorded: Any
    instead: Any


class Addition(msgspec.Struct, frozen=True, kw_only=True):
    """In section `of`, `entry` may follow the first entry whose keys have the values in `after`.

    For example: two sessions that were recorded to expire at once expire a tick apart, and the state between them is
    there to be seen."""

    of: str
    after: dict[str, Any]
    entry: dict[str, Any]


class Race(msgspec.Struct, frozen=True, kw_only=True):
    """A race. `rule`: the rule that allows the other outcome, "semantics 4.2"."""

    name: str
    rule: str
    allows: tuple[Substitution, ...] = ()
    adds: tuple[Addition, ...] = ()


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """The recording nearest to a run.

    `races`: races with another outcome in the run than in the recording.
    """

    recording: str
    differences: list[Difference]
    races: tuple[Race, ...] = ()

    @property
    def equal(self) -> bool:
        return not self.differences


class Recorded:
    """All recordings of a script, not empty, and the races of its scenario, for many runs."""

    def __init__(self, recordings: Mapping[str, Observations], races: Sequence[Race]) -> None:
        assert recordings and len(races) <= MAX_RACES
        self._recordings = recordings
        self._races = races
        self._reduced = {name: comparable(recording) for name, recording in recordings.items()}

    @cached_property
    def _by_race(self) -> list[tuple[str, tuple[Race, ...], Comparable]]:
        """(recording, races, its outcome with these): seldom looked at, and dear."""
        return [
            (name, taken, outcome)
            for name, recording in self._recordings.items()
            for taken, outcome in _outcomes(recording, self._races)
        ]

    def nearest(self, run: Comparable) -> Match:
        """The nearest recording.

        One that is equal as recorded comes before one that is equal by a race.
        """
        matches = []
        for name, recording in self._reduced.items():
            match = Match(recording=name, differences=compare_reduced(run, recording))
            if match.equal:
                return match
            matches.append(match)
        for name, taken, outcome in self._by_race:
            if not compare_reduced(run, outcome):
                return Match(recording=name, differences=[], races=taken)
        return min(matches, key=lambda match: len(match.differences))


def nearest_with_races(observed: Observations, recordings: Mapping[str, Observations], races: Sequence[Race]) -> Match:
    """Of one run. `recordings` is not empty."""
    return Recorded(recordings, races).nearest(comparable(observed))


def substituted(recording: Observations, race: Race) -> Observations | None:
    """A copy of the recording with the race's other outcome.

    None if one of its substitutions or additions does not match.
    """
    outcome = copy.deepcopy(recording)
    for substitution in race.allows:
        found = False
        for entry in getattr(outcome, substitution.of):
            if _is(entry, substitution.where):
                found = _replace(entry, substitution) or found
        if not found:
            return None
    for addition in race.adds:
        entries = getattr(outcome, addition.of)
        place = next((index for index, entry in enumerate(entries, 1) if _is(entry, addition.after)), None)
        if place is None:
            return None
        entries.insert(place, dict(addition.entry))
    return outcome


def _is(entry: Entry, where: Mapping[str, Any]) -> bool:
    return all(key in entry and same(value, entry[key]) for key, value in where.items())


def _outcomes(recording: Observations, races: Sequence[Race]) -> Iterator[tuple[tuple[Race, ...], Comparable]]:
    """Every combination of races that applies to this recording, fewest races first."""
    for count in range(1, len(races) + 1):
        for taken in combinations(races, count):
            outcome: Observations | None = recording
            for race in taken:
                outcome = substituted(outcome, race) if outcome is not None else None
            if outcome is not None:
                yield taken, comparable(outcome)


def _replace(entry: Entry, substitution: Substitution) -> bool:
    *path, last = (_part(word) for word in substitution.leaf.split("."))
    inside: Any = entry
    for part in path:
        if not _has(inside, part):
            return False
        inside = inside[part]
    if not _has(inside, last) or not same(substitution.recorded, inside[last]):
        return False
    inside[last] = substitution.instead
    return True


def _part(word: str) -> int | str:
    index = number_in(word)
    return word if index is None else index


def _has(inside: Any, part: int | str) -> bool:
    if isinstance(part, int):
        return isinstance(inside, list) and part < len(inside)
    return isinstance(inside, dict) and part in inside
