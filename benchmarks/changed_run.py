"""Runs whose events were changed, each in a way that is known: what the audit may still say of them.

A run's files are taken apart into lines, and one change is made, drawn from a seed. Who makes it knows what it took:

- `GONE`: something that checks go by is not there any more, or cannot be believed: the run must be unknown.
- `KEPT`: all that any check reads is there, as it was: the verdict must be what it was.
- `OPEN`: what is left tells a story of its own, which may be true; but never a better one.

The rule is stated where the change is made, and goes by the line and the field alone, never by what the audit says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from audit.families import COLUMNS
from protocol.chance import Chance
from protocol.events.reading import ENVELOPE_NEEDED

GONE: Final = "gone"
KEPT: Final = "kept"
OPEN: Final = "open"

Line = dict[str, Any]
Files = dict[str, list[Line]]
"""{name of an event file: its lines}"""

READ: Final = frozenset((*COLUMNS, *ENVELOPE_NEEDED, "format", "event"))
"""Fields that some check reads, or the audit itself."""


class Change(msgspec.Struct, frozen=True):
    """`what` was done, for a person; `files`: how they are then; `tail`: bytes that are cut off the end of a file."""

    kind: str
    what: str
    taken: str
    files: Files
    tail: Mapping[str, int] = {}


def pick(chance: Chance, files: Files, wanted: Callable[[Line], bool] = lambda line: True) -> tuple[str, int]:
    """A file and the place of a line in it; one kind of events is as likely as another, however many there are."""
    by_event: dict[str, list[tuple[str, int]]] = {}
    for name, lines in files.items():
        for place, line in enumerate(lines):
            if wanted(line):
                by_event.setdefault(line["event"], []).append((name, place))
    of_event = by_event[sorted(by_event)[chance.below(len(by_event))]]
    return of_event[chance.below(len(of_event))]


def name_of_one(chance: Chance, files: Files) -> str:
    return sorted(files)[chance.below(len(files))]


def told(name: str, line: Line) -> str:
    return f"{name} {line['seq']} {line['event']}"
