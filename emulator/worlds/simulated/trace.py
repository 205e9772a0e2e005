"""The simulated world's events: kept as tuples, formatted as lines only on request."""

from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from protocol.events import EVENT_FORMAT, Event, ZnodeChanged

if TYPE_CHECKING:
    from emulator.worlds.simulated.node import SimulatedNode

Cause = str | tuple[str, int]
"""The input that led to an event; a frame as (connection, number).

`cause_text` formats it.
"""

Entry = tuple[str, int, int, Cause, float, Event]
"""(node, incarnation, seq, cause, at_ms, event)."""


def cause_text(cause: Cause) -> str:
    """The cause in an event's text form."""
    return cause if isinstance(cause, str) else f"{cause[0]}/{cause[1]}"


class Trace:
    """All events of a run, in the order in which they happened."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, node: "SimulatedNode", cause: Cause, at_ms: float, event: Event) -> None:
        node.seq += 1
        self.entries.append((node.node.name, node.incarnation, node.seq, cause, at_ms, event))

    def line(self, entry: Entry, run: str, wall_epoch_ms: float) -> dict[str, Any]:
        """One event as the flat record that is written to disk."""
        node, incarnation, seq, cause, at_ms, event = entry
        at_ms = round(at_ms, 3)
        return {
            "format": EVENT_FORMAT, "run": run, "node": node, "incarnation": incarnation, "seq": seq, "cause":
            cause_text(cause),
            "mono_ms": at_ms, "wall_ms": round(wall_epoch_ms + at_ms, 3), "at_ms": at_ms,
            "level": event.LEVEL, "event": event.NAME, **msgspec.structs.asdict(event),
        }  # fmt: skip

    def shape(self) -> bytes:
        """The trace without times and values of the seed, for comparing two seeds.

        Digests (of bytes with a timestamp in them) and session ids are numbered as they first appear; znodes' data is
        left out.
        """
        numbers: dict[tuple[str, int], int] = {}
        return b"\n".join(
            _encoder.encode((node, incarnation, seq, cause, event.NAME, _timeless(event, numbers)))
            for node, incarnation, seq, cause, _, event in self.entries
        )


_encoder = msgspec.json.Encoder()
NUMBERED = frozenset(("digest", "session"))
"""Fields that depend on the seed; otherwise equal runs differ in them."""


@cache
def _seeded(kind: type[Event]) -> tuple[str, ...] | None:
    """Fields of this kind that depend on the seed. None: none."""
    names = tuple(sorted(NUMBERED.intersection(kind.__struct_fields__)))
    return names if names or kind is ZnodeChanged else None


def _timeless(event: Event, numbers: dict[tuple[str, int], int]) -> Event | dict[str, Any]:
    seeded = _seeded(type(event))
    if seeded is None:
        return event
    fields = msgspec.structs.asdict(event)
    for name in seeded:
        fields[name] = numbers.setdefault((name, fields[name]), len(numbers))
    if isinstance(event, ZnodeChanged):
        del fields["data"]
    return fields
