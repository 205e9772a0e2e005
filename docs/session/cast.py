"""asciinema's recordings, version 2.

A header, then one JSON array a line: [seconds, "o", output], or a marker "m".
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Literal

import msgspec

from protocol.undecodable import UNDECODABLE

Kind = Literal["o", "m"]


class NoCast(ValueError):
    """Not a recording; the message has the line and the problem."""


class Header(msgspec.Struct, frozen=True):
    """Header of a recording.

    `width`, `height`: of the terminal, in cells. `idle_time_limit`: seconds; a player shortens longer pauses.
    """

    version: Literal[2]
    width: int
    height: int
    title: str = ""
    idle_time_limit: float = 3.0
    env: dict[str, str] = {}


class Event(msgspec.Struct, frozen=True, array_like=True):
    """An event of a recording.

    `kind` "o": output to the terminal; "m": a marker, with its caption. `at_s`: since the recording began.
    """

    at_s: float
    kind: Kind
    text: str


class Cast(msgspec.Struct, frozen=True):
    header: Header
    events: tuple[Event, ...]


def as_text(header: Header, events: Iterable[Event]) -> str:
    """The file."""
    lines = [msgspec.json.encode(header), *map(msgspec.json.encode, events)]
    return "".join(line.decode() + "\n" for line in lines)


def parsed(text: str) -> Cast:
    """Raises NoCast."""
    first, *rest = text.splitlines() or [""]
    try:
        header = msgspec.json.decode(first, type=Header)
    except UNDECODABLE as error:
        raise NoCast(f"line 1: no header of a version 2 recording: {error}") from error
    events = []
    for number, line in enumerate(rest, start=2):
        try:
            events.append(msgspec.json.decode(line, type=Event))
        except UNDECODABLE as error:
            raise NoCast(f"line {number}: no event: {error}") from error
    if any(after.at_s < before.at_s for before, after in pairwise(events)):
        raise NoCast("its events are not in order of time")
    return Cast(header, tuple(events))
