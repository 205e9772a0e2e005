"""Schedules with more outcomes than recordings: entries of every run, and of some run.

A random schedule was recorded twice. The README of the recordings judges it so: every entry on which the recordings
agree holds in every run, whatever the seed; and each recording, as a whole, is what some seed does. An entry of the
timeline belongs to its step: recordings agree on it when each of them has it, in the same order, before the next
step. The lists of states, controllers and truncations have no steps; there they agree on what is in each, in order.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

import msgspec

from emulator.scenario.observations.alignment import NOTHING, Difference
from emulator.scenario.observations.comparable import Comparable, Item
from emulator.scenario.observations.recording_comparison import by_step


class Agreed(msgspec.Struct, frozen=True):
    """Entries common to all recordings of a schedule.

    `steps`: the timeline's results, step by step, the step itself first. `lists`: name -> entries in order.
    """

    steps: tuple[tuple[Item, ...], ...]
    lists: dict[str, tuple[Item, ...]]

    @property
    def count(self) -> int:
        """Entries of the timeline that came back, as opposed to the script's own."""
        return sum("do" not in item.entry for step in self.steps for item in step)


def agreed(recordings: Sequence[Comparable]) -> Agreed:
    """At least one recording, all of one script."""
    first, *others = recordings
    steps = [tuple(step) for step in by_step(first.timeline)]
    lists = {name: tuple(items) for name, items in _lists(first).items()}
    for other in others:
        theirs = by_step(other.timeline)
        assert len(theirs) == len(steps), "recordings of different scripts"
        steps = [_common(left, right) for left, right in zip(steps, theirs, strict=True)]
        their_lists = _lists(other)
        lists = {name: _common(items, their_lists.get(name, ())) for name, items in lists.items()}
    return Agreed(tuple(steps), lists)


def broken(run: Comparable, wanted: Agreed) -> Iterator[Difference]:
    """Agreed entries that the run lacks, one difference each; places are the first recording's."""
    steps = by_step(run.timeline)
    for index, items in enumerate(wanted.steps):
        yield from _lacking(items, steps[index] if index < len(steps) else (), "timeline")
    lists = _lists(run)
    for name, items in wanted.lists.items():
        yield from _lacking(items, lists.get(name, ()), name)


def _lists(of: Comparable) -> Mapping[str, Sequence[Item]]:
    return {
        **{f"states of {partition}": items for partition, items in of.states.items()},
        "controllers": of.controllers,
        **({"registrations": of.registrations} if of.plane else {}),
        **{f"truncations of {partition} on {node}": items for (node, partition), items in of.truncations.items()},
    }


def _common(left: Sequence[Item], right: Sequence[Item]) -> tuple[Item, ...]:
    matcher = SequenceMatcher(None, _tokens(left), _tokens(right), autojunk=False)
    return tuple(item for block in matcher.get_matching_blocks() for item in left[block.a : block.a + block.size])


def _lacking(wanted: Sequence[Item], seen: Sequence[Item], about: str) -> Iterator[Difference]:
    """`wanted` as a subsequence of `seen`."""
    matched = {item.place for item in _common(wanted, seen)}
    for item in wanted:
        if item.place not in matched:
            yield Difference(item.place, item.entry, NOTHING, about)


def _tokens(items: Sequence[Item]) -> list[bytes]:
    return [item.token for item in items]
