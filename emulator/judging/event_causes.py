"""Groups seeds by their outcome and its reason, the rarest first.

A rare outcome is the one worth reading. Each group has its shortest run, with a list of the decisive events.
"""

from collections.abc import Iterable, Sequence

import msgspec

from emulator.judging.campaigns.row import Row
from emulator.judging.timeline_text import listing_of
from emulator.runs.resolve import Resolved
from emulator.runs.simulated import collector_disabled, play

AS_EXPECTED = "as expected"
LISTED_MAX = 10
"""Maximum of causes whose shortest run is listed."""


class Cause(msgspec.Struct):
    """Seeds with one cause.

    `shortest`: the seed with the fewest inputs. `events`: decisive events in order; empty if not listed.
    """

    cause: str
    seeds: list[int]
    shortest: int
    events: list[str] = []


def causes_of(results: Iterable[Row]) -> list[Cause]:
    """Causes of all results, the rarest first."""
    groups: dict[str, list[Row]] = {}
    for result in results:
        groups.setdefault(cause_of(result), []).append(result)
    found = [
        Cause(cause, [one.seed for one in group], min(group, key=lambda one: (one.inputs, one.seed)).seed)
        for cause, group in groups.items()
    ]
    return sorted(found, key=lambda one: (len(one.seeds), one.seeds[0]))


def cause_of(result: Row) -> str:
    """Text of the run's failure or invalidity, or else of its expected violations and races."""
    if result.error:
        return result.error
    if result.broken:
        return "; ".join(result.broken)
    violated = [one.check for one in result.checks if one.verdict == "violated"]
    words = [", ".join(violated) + " violated" if violated else AS_EXPECTED]
    words += [f"by race {race}" for race in result.races]
    if not result.recording and result.differences:
        words.append("equals no recording")
    return ", ".join(words)


def with_events(causes: Sequence[Cause], resolved: Resolved) -> None:
    """Replay the shortest run of each of the first causes and list its decisive events."""
    for cause in causes[:LISTED_MAX]:
        try:
            with collector_disabled():
                cause.events = listing_of(play(resolved, cause.shortest).world.trace.entries)
        except Exception as error:  # already reported as a failure
            cause.events = [f"it was not played to its end: {type(error).__name__}"]
