"""A run's events, read back in plain Python: for commands that follow single records or compare two runs.

Lines that do not parse are left out; the audit counts and keeps them. Bounded: what these commands need fits in
memory, and a run that does not is told so."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from emulator.runs.layout import EVENTS_FOLDER

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
    files = [path for path in sorted(folder.glob(names)) if path.name.endswith(".wire.jsonl") == wire]
    if not files and not wire:
        whose = f" of {node}" if node else ""
        raise NoEvents(f"{run}: holds no events{whose}; a run's directory has them in events/{names}")
    return files


def read(run: Path, names: Collection[str], node: str = "") -> Iterator[Line]:
    """Events of these names, file by file, in each file's order; of all nodes or of one. Raises NoEvents,
    TooManyEvents."""
    markers = tuple(f'"event":"{name}"'.encode() for name in names)
    count = 0
    for path in event_files(run, node=node):
        with path.open("rb") as lines:
            for line in lines:
                if not any(marker in line for marker in markers):
                    continue
                try:
                    event: Line = msgspec.json.decode(line)
                except msgspec.DecodeError:
                    continue
                count += 1
                if count > EVENTS_MAX:
                    raise TooManyEvents(f"{run}: more than {EVENTS_MAX} events; ask with faultline sql")
                yield event
