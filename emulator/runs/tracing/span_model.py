"""Spans and their ids. Pure.

An id is derived from the run and the operation, so that the same run has the same trace each time.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final, Literal

import msgspec

Value = str | int | float | bool
INTERNAL: Final = 1
CLIENT: Final = 3
PRODUCER: Final = 4
CONSUMER: Final = 5
UNSET: Final = 0
OK: Final = 1
ERROR: Final = 2
Kind = Literal[1, 3, 4, 5]
Status = Literal[0, 1, 2]
SPAN_EVENTS_MAX: Final = 128
"""Limit of a span's events, as OpenTelemetry's default; the rest is counted."""


class SpanEvent(msgspec.Struct, frozen=True):
    """Something that happened during a span. Time in scenario ms."""

    at_ms: float
    name: str
    attributes: Mapping[str, Value]


class Span(msgspec.Struct):
    """One span. Ids in hex; `parent` "": the root of its trace. Times in scenario ms."""

    trace: str
    span: str
    parent: str
    name: str
    kind: Kind
    from_ms: float
    to_ms: float
    attributes: dict[str, Value]
    status: Status = UNSET
    message: str = ""
    events: list[SpanEvent] = []
    events_dropped: int = 0

    def add_events(self, events: list[SpanEvent]) -> None:
        """Add events in their order of time, within the limit."""
        room = SPAN_EVENTS_MAX - len(self.events)
        self.events += events[:room]
        self.events_dropped += max(0, len(events) - room)


def trace_id(run: str, name: str) -> str:
    """Id of a trace: 16 bytes, in hex."""
    return _digest(run, name)[:32]


def span_id(run: str, name: str) -> str:
    """Id of a span: 8 bytes, in hex."""
    return _digest(run, f"{name}/span")[:16]


def _digest(run: str, name: str) -> str:
    return sha256(f"{run}\0{name}".encode("utf-8", "backslashreplace")).hexdigest()
