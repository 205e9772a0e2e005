"""Runs with one known change of their events, and the verdicts that remain permitted.

A run's files are split into lines, and one change is made, drawn from a seed. The change is classified by its loss:

- `GONE`: data that checks need are missing, or not credible: the run must be unknown.
- `KEPT`: all data that any check reads are unchanged: the verdict must be the same.
- `OPEN`: the rest is a different history, which may be true; but never a better one.

The change itself defines its class, by line and field only, never by the audit's result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from audit.event_groups import COLUMNS
from protocol.chance import Chance
from protocol.events.event_parsing import ENVELOPE_NEEDED

GONE: Final = "gone"
KEPT: Final = "kept"
OPEN: Final = "open"

Line = dict[str, Any]
Files = dict[str, list[Line]]
"""{name of an event file: its lines}"""

READ: Final = frozenset((*COLUMNS, *ENVELOPE_NEEDED, "format", "event"))
"""Fields that some check reads, or the audit itself."""


class Change(msgspec.Struct, frozen=True):
    """A change.

    `what`: a description; `files`: their content afterwards; `tail`: bytes that are cut off the end of a file.
    """

    kind: str
    what: str
    taken: str
    files: Files
    tail: Mapping[str, int] = {}


def pick(chance: Chance, files: Files, wanted: Callable[[Line], bool] = lambda line: True) -> tuple[str, int]:
    """A file and the index of a line in it.

    Each kind of events is equally likely, however many there are.
    """
    by_event: dict[str, list[tuple[str, int]]] = {}
    for name, lines in files.items():
        for place, line in enumerate(lines):
            if wanted(line):
                by_event.setdefault(line["event"], []).append((name, place))
    of_event = by_event[sorted(by_event)[chance.below(len(by_event))]]
    return of_event[chance.below(len(of_event))]


def name_of_one(chance: Chance, files: Files) -> str:
    return sorted(files)[chance.below(len(files))]


def described(name: str, line: Line) -> str:
    return f"{name} {line['seq']} {line['event']}"
