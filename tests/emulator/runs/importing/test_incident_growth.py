"""Work of an incident's facts grows as the events do, in steps of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from emulator.runs.importing.fact_finding import facts_of
from emulator.runs.importing.import_record import ImportRecord
from emulator.runs.importing.incident_facts import EVENTS_READ, IncidentFacts, Line
from emulator.runs.importing.incident_run import read_incident
from tests.emulator.judging.oracle.test_growth import MOST, TIMES, steps_of
from tests.real_logs import RUNS

APART_MS = 600_000.0
"""Time from one repetition of the incident to the next."""
SMALL = 20


class Lines(NamedTuple):
    record: ImportRecord
    events: list[Line]


def repeated(run: Path, times: int) -> Lines:
    """The lines of an incident that happened so many times, each time in further incarnations."""
    record, _, all_events = read_incident(run)
    events = [one for one in all_events if one["event"] in EVENTS_READ]
    lives = max(node.incarnations for node in record.nodes)

    def again(number: int) -> Iterator[Line]:
        for one in events:
            later = dict(one) | {"at_ms": one["at_ms"] + number * APART_MS}
            for name in ("incarnation", "life"):
                if isinstance(one.get(name), int):
                    later[name] = one[name] + number * lives
            yield later

    notices = [
        msgspec.structs.replace(
            one, wall_ms=one.wall_ms + number * APART_MS, incarnation=one.incarnation + number * lives
        )
        for number in range(times)
        for one in record.notices
    ]
    files = [msgspec.structs.replace(one, last_ms=one.last_ms + (times - 1) * APART_MS) for one in record.files]
    longer = msgspec.structs.replace(record, notices=notices, files=files)
    return Lines(longer, [one for number in range(times) for one in again(number)])


def found(lines: Lines) -> Iterator[IncidentFacts]:
    yield facts_of(*lines)


@pytest.mark.parametrize("name", RUNS)
def test_work_grows_as_the_events_do(name: str, imported: Callable[[str], Path]) -> None:
    run = imported(name)
    small, large = (steps_of(found, repeated(run, times)) for times in (SMALL, SMALL * TIMES))
    assert large <= small * TIMES * MOST, f"{large / small:.1f} times the steps for {TIMES} times the events"


@pytest.mark.parametrize("name", RUNS)
def test_a_repeated_incident_has_more_facts(name: str, imported: Callable[[str], Path]) -> None:
    """Each repetition has its facts, so the steps are those of more work."""
    run = imported(name)
    once, often = (facts_of(*repeated(run, times)) for times in (1, SMALL))
    kinds = ("cut_off", "session_lost", "dead", "stopped", "cuts", "dual_leaders", "away", "paused")
    assert sum(len(getattr(often, kind)) for kind in kinds) > sum(len(getattr(once, kind)) for kind in kinds)
