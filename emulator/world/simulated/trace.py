"""The simulated world's events: kept as tuples, written as lines only when asked for."""

from typing import TYPE_CHECKING, Any

import msgspec

from protocol.events import EVENT_FORMAT, Event

if TYPE_CHECKING:
    from emulator.world.simulated.node import SimulatedNode

Entry = tuple[str, int, int, str, float, Event]
"""(node, incarnation, seq, cause, at_ms, event)"""


class Trace:
    """All events of a run, in the order in which they happened."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, node: "SimulatedNode", cause: str, at_ms: float, event: Event) -> None:
        node.seq += 1
        self.entries.append((node.node.name, node.incarnation, node.seq, cause, at_ms, event))

    def line(self, entry: Entry, run: str, wall_epoch_ms: float) -> dict[str, Any]:
        """One event as the flat record that is written to disk."""
        node, incarnation, seq, cause, at_ms, event = entry
        at_ms = round(at_ms, 3)
        return {
            "format": EVENT_FORMAT, "run": run, "node": node, "incarnation": incarnation, "seq": seq, "cause": cause,
            "mono_ms": at_ms, "wall_ms": round(wall_epoch_ms + at_ms, 3), "at_ms": at_ms,
            "level": event.LEVEL, "event": event.NAME, **msgspec.structs.asdict(event),
        }  # fmt: skip

    def shape(self) -> bytes:
        """The trace without times: what two seeds are compared by."""
        return b"\n".join(
            msgspec.json.encode((node, incarnation, seq, cause, event.NAME, msgspec.structs.asdict(event)))
            for node, incarnation, seq, cause, _, event in self.entries
        )
