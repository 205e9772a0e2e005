"""Many seeds by what came of them and why, the rarest first: what happens once in a thousand runs is what a person
wants to see. Of each the shortest run, and what decided it, event by event."""

from collections.abc import Iterable, Sequence

import msgspec

from emulator.judging.listing import listing_of
from emulator.judging.seeds import SeedResult
from emulator.runs.resolve import Resolved
from emulator.runs.simulated import collector_asleep, play

AS_EXPECTED = "as expected"
LISTED_MAX = 10
"""Causes whose shortest run is listed."""


class Cause(msgspec.Struct):
    """`seeds` of one `cause`. `shortest`: the one with the fewest inputs; `events`: what decided it, in order; empty if
    it was not listed."""

    cause: str
    seeds: list[int]
    shortest: int
    events: list[str] = []


def causes_of(results: Iterable[SeedResult]) -> list[Cause]:
    """The rarest first."""
    groups: dict[str, list[SeedResult]] = {}
    for result in results:
        groups.setdefault(cause_of(result), []).append(result)
    found = [
        Cause(cause, [one.seed for one in group], min(group, key=lambda one: (one.inputs, one.seed)).seed)
        for cause, group in groups.items()
    ]
    return sorted(found, key=lambda one: (len(one.seeds), one.seeds[0]))


def cause_of(result: SeedResult) -> str:
    """Why it could not be played, or is not valid; else what is violated as the scenario expects, and by which race."""
    if result.error:
        return result.error
    if result.broken:
        return "; ".join(result.broken)
    violated = [name for name, (verdict, _) in result.checks.items() if verdict == "violated"]
    words = [", ".join(violated) + " violated" if violated else AS_EXPECTED]
    words += [f"by race {race}" for race in result.races]
    if not result.recording and result.differences:
        words.append("equals no recording")
    return ", ".join(words)


def with_events(causes: Sequence[Cause], resolved: Resolved) -> None:
    """Of those that come first the shortest run is played again, and listed. Who could not be played has no list."""
    for cause in causes[:LISTED_MAX]:
        try:
            with collector_asleep():
                cause.events = listing_of(play(resolved, cause.shortest).world.trace.entries)
        except Exception as error:  # it is told of as a failure already
            cause.events = [f"it was not played to its end: {type(error).__name__}"]
