"""The newest changes of a cluster's state, as server-sent events. Pure.

All readers share one bounded history; a reader has nothing but the number of its last event. A reader that is behind
the history gets a snapshot, as a new one does. So a slow reader costs no memory, and none waits for another.

    id: 9f3a01c2.17
    event: snapshot | delta | time | end
    data: {...}

An id is the cluster's run id and a number. An id of another cluster yields a snapshot, never its changes.
"""

from collections import deque
from typing import Any, Final

import msgspec

from emulator.cluster.page.state_deltas import Delta, difference
from protocol.numbers import number_in

EVENTS_MAX: Final = 256
"""Changes in the history: at least 51 s at five a second."""
HISTORY_BYTES_MAX: Final = 8 << 20
TIME_EVERY_MS: Final = 1_000.0
"""Scenario time between two events `time`, while nothing changes."""
NO_EVENT: Final = -1
_encode = msgspec.json.Encoder().encode


class StreamHistory:
    """`add` takes each state; `since` returns the events after a number."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.number = NO_EVENT
        """Number of the newest event."""
        self._state: dict[str, Any] = {}
        self._at_ms = 0.0
        self._events: deque[bytes] = deque()
        self._bytes = 0
        self._snapshot: bytes = b""

    def add(self, state: dict[str, Any], at_ms: float) -> bool:
        """Add the state at a time; returns whether there is a new event."""
        if self.number == NO_EVENT:
            self._append("delta", at_ms, {"set": [], "remove": []})
        else:
            delta = difference(self._state, state)
            if not delta and at_ms - self._at_ms < TIME_EVERY_MS:
                return False
            self._append(*_event_of(delta, at_ms))
        self._state, self._at_ms, self._snapshot = state, at_ms, b""
        return True

    def since(self, number: int) -> tuple[bytes, int]:
        """(events after `number`, number of the newest). Empty: there is none, or no state yet."""
        if self.number in (NO_EVENT, number):
            return b"", number
        first = self.number - len(self._events)
        if number == NO_EVENT or not first <= number < self.number:
            return self._snapshot_event(), self.number
        return b"".join(list(self._events)[number - first :]), self.number

    def number_of(self, event_id: str) -> int:
        """The number in an event's id. NO_EVENT: no id, or one of another cluster."""
        run_id, _, text = event_id.rpartition(".")
        number = number_in(text)
        return number if run_id == self.run_id and number is not None else NO_EVENT

    def end(self) -> bytes:
        """The last event of a stream: the cluster ends."""
        return _lines(f"{self.run_id}.{self.number}", "end", {})

    def _snapshot_event(self) -> bytes:
        if not self._snapshot:
            data = {"at_ms": self._at_ms, "state": self._state}
            self._snapshot = _lines(f"{self.run_id}.{self.number}", "snapshot", data)
        return self._snapshot

    def _append(self, kind: str, at_ms: float, data: dict[str, Any]) -> None:
        self.number += 1
        event = _lines(f"{self.run_id}.{self.number}", kind, {"at_ms": at_ms, **data})
        self._events.append(event)
        self._bytes += len(event)
        while len(self._events) > EVENTS_MAX or (self._bytes > HISTORY_BYTES_MAX and len(self._events) > 1):
            self._bytes -= len(self._events.popleft())


def _event_of(delta: Delta, at_ms: float) -> tuple[str, float, dict[str, Any]]:
    return ("delta", at_ms, {"set": delta.set, "remove": delta.remove}) if delta else ("time", at_ms, {})


def _lines(event_id: str, kind: str, data: dict[str, Any]) -> bytes:
    """One event. JSON has no line break, so its data are one line."""
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (event_id.encode(), kind.encode(), _encode(data))
