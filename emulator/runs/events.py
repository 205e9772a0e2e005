"""A run's events, read back in plain Python: for commands that follow single records or compare two runs.

Lines that are no events are left out; the audit counts and keeps them. Bounded: what these commands need fits in
memory, and a run that does not is told so."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from emulator.regular_files import lines_of, open_regular, refuse_foreign_link
from emulator.runs.layout import EVENTS_FOLDER
from protocol.events.reading import LINE_BYTES_MAX, event_in, placed_in

EVENTS_MAX = 2_000_000
Line = dict[str, Any]


class TooManyEvents(ValueError):
    """More events than a person's question is about; `faultline sql` takes any number."""


class NoEvents(ValueError):
    """Not a run's directory, or a run without events."""


def event_files(run: Path, *, wire: bool = False, node: str = "") -> list[Path]:
    """The files of a run, or of one node. Raises NoEvents."""
    names = f"{node}.*.jsonl" if node else "*.jsonl"
    folder = run / EVENTS_FOLDER
    if folder.is_symlink():
        refuse_foreign_link(folder)
    files = [path for path in sorted(folder.glob(names)) if path.name.endswith(".wire.jsonl") == wire]
    if not files and not wire:
        whose = f" of {node}" if node else ""
        raise NoEvents(f"{run}: holds no events{whose}; a run's directory has them in events/{names}")
    return files


def read(run: Path, names: Collection[str], node: str = "", *, broken: bool = False) -> Iterator[Line]:
    """Events of these names, file by file, in each file's order; of all nodes or of one. `broken`: also
    those that only have their place (node, incarnation and number). Raises NoEvents, TooManyEvents."""
    count = 0
    for path in event_files(run, node=node):
        for event in events_in(path, names, broken=broken):
            count += 1
            if count > EVENTS_MAX:
                raise TooManyEvents(f"{run}: more than {EVENTS_MAX} events; ask with faultline sql")
            yield event


def events_in(path: Path, names: Collection[str], *, broken: bool = False) -> Iterator[Line]:
    """Events of these names in one file. Raises OSError, also for what is no regular file."""
    markers = tuple(f'"event":"{name}"'.encode() for name in names)
    with open_regular(path) as file:
        for line in lines_of(file, LINE_BYTES_MAX):
            if any(marker in line for marker in markers):
                event = placed_in(line) if broken else event_in(line)
                if event is not None and event["event"] in names:
                    yield event
