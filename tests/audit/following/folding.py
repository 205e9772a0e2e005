"""A follow's findings of a trace without Spark: its events, in pieces, folded."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from audit.following.event import FOLLOWED, PATHS, PRODUCES, Event
from audit.following.finding import Line, Seen
from audit.following.followed import Followed
from tests.audit.trace import Trace


def event_of(fields: Mapping[str, object]) -> Event | None:
    """None: it is not followed."""
    if fields["event"] not in FOLLOWED or (fields["event"] in PRODUCES and fields["kind"] != "produce"):
        return None
    if fields["event"] == "znode_changed" and re.search(PATHS, str(fields["path"])) is None:
        return None
    return Event(*(fields.get(name) for name in Event._fields))  # type: ignore[arg-type]


def events_in(lines: Iterable[bytes]) -> list[Event]:
    events = (event_of(msgspec.json.decode(line)) for line in lines)
    return [event for event in events if event is not None]


def by_node(trace: Trace) -> dict[str, list[Event]]:
    """Each node's events in its order."""
    found: dict[str, list[Event]] = {}
    for (node, _, wire), lines in sorted(trace.files.items()):
        if not wire:
            found.setdefault(node, []).extend(events_in(lines))
    return found


def folded(trace: Trace, read_to_ms: float = 0.0) -> tuple[Followed, list[Line]]:
    """All of a trace at once, then its end."""
    followed = Followed()
    events = [event for of_node in by_node(trace).values() for event in of_node]
    lines = [*followed.step(events, read_to_ms), *followed.finish()]
    return followed, lines


def kinds(seen: Sequence[Seen]) -> list[tuple[str, bool]]:
    return [(one.finding, one.violation) for one in seen]


def in_fifths(files: Sequence[Sequence[Event]]) -> Followed:
    """A fifth of each file at a time, whatever its times: the reads do not follow the clock."""
    followed, last_ms = Followed(), max(event.at_ms for events in files for event in events)
    for fifth in range(5):
        for events in files:
            begin, end = (len(events) * part // 5 for part in (fifth, fifth + 1))
            list(followed.step(events[begin:end], last_ms * fifth / 6))
    list(followed.finish())
    return followed


def remembered(followed: object) -> int:
    """All that is in its collections, and in those of what it is made of."""
    seen: set[int] = set()

    def size(thing: object) -> int:
        if id(thing) in seen or isinstance(thing, str | int | float | type(None)):
            return 0
        seen.add(id(thing))
        if isinstance(thing, dict):
            return len(thing) + sum(size(value) for value in thing.values())
        if isinstance(thing, list | set | tuple | deque):
            return len(thing) + sum(size(value) for value in thing)
        return sum(size(value) for value in vars(thing).values()) if hasattr(thing, "__dict__") else 0

    return size(followed)
