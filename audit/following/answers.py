"""Unavailability of clients: since when their produces fail, or get no response. Pure.

`unavailable_ms` is measured as in the audit: from the end of a failed produce to the end of the same client's next one.
A produce without a response has had no end yet. So a client is also unavailable while one is in flight and none was
acknowledged for WAITING_MS.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import msgspec

from audit.following.event import Event
from audit.following.finding import Seen
from emulator.judging.measures import OUTSIDE, FailedWrites, longest_by_az
from protocol.events.record_values import values_in

WAITING_MS: Final = 2_500.0
UNDER_WAY_MAX: Final = 50_000
"""Maximum of produces in flight per client; further ones are not followed."""
VALUE_SHOWN_MAX: Final = 40


class InFlight(msgspec.Struct, frozen=True):
    """A produce in flight. `values`: of its records."""

    at_ms: float
    values: tuple[str, ...]


class _Client(msgspec.Struct):
    """State of a client.

    `lacks`: its present unavailability. `over`: former ones that no look has reported yet.
    """

    under_way: dict[str, InFlight] = msgspec.field(default_factory=dict)
    last_good_ms: float = float("-inf")
    lacks: Seen | None = None
    over: list[Seen] = msgspec.field(default_factory=list)


class Answers:
    """Unavailability by client node."""

    def __init__(self) -> None:
        self._clients: dict[str, _Client] = {}
        self._azs: dict[str, str] = {}
        self._writes = FailedWrites()

    def started(self, node: str, az: str) -> None:
        """Begin an incarnation; produces in flight of the former one ended with it."""
        self._azs[node] = az or OUTSIDE
        if node in self._clients:
            self._clients[node].under_way.clear()

    def invoked(self, event: Event) -> None:
        assert event.operation is not None
        client = self._clients.setdefault(event.node, _Client())
        if len(client.under_way) < UNDER_WAY_MAX:
            values = values_in(event.value or "", event.records or 1)
            client.under_way[event.operation] = InFlight(
                event.at_ms, tuple(value[:VALUE_SHOWN_MAX] for value in values)
            )

    def ended(self, event: Event) -> InFlight | None:
        """End a produce; returns its begin, if known."""
        assert event.operation is not None
        client = self._clients.setdefault(event.node, _Client())
        self._wait(client, event.node, event.at_ms)
        in_flight = client.under_way.pop(event.operation, None)
        self._writes.ended(event.node, event.at_ms, event.outcome)
        if event.outcome != "ok":
            if client.lacks is None:
                client.lacks = self._lack(event.node, event.at_ms, "fails", event.name)
            return in_flight
        client.last_good_ms = event.at_ms
        if client.lacks is not None:
            since_ms, events = client.lacks.at_ms, client.lacks.events
            text = f"{self._az(event.node)}: what {event.node} produced failed, or was not answered, for " + (
                f"{int(event.at_ms - since_ms)} ms"
            )
            over = msgspec.structs.replace(client.lacks, to_ms=event.at_ms, text=text, events=(*events, event.name))
            client.over.append(over)
            client.lacks = None
        return in_flight

    def clients(self) -> list[str]:
        return list(self._clients)

    def look(self, node: str, read_to_ms: float) -> dict[Hashable, Seen]:
        """Present unavailability of a client, and those since the last look."""
        client = self._clients[node]
        self._wait(client, node, read_to_ms)
        seen, client.over = client.over, []
        if client.lacks is not None:
            seen.append(client.lacks)
        return {one.at_ms: one for one in seen}

    def unavailable_ms(self, last_ms: float) -> dict[str, float | None]:
        """The measure `unavailable_ms`, by AZ.

        `last_ms`: time of the run's last event, or of the last one read.
        """
        return longest_by_az(self._azs, self._writes.until(last_ms))

    def _wait(self, client: _Client, node: str, now_ms: float) -> None:
        """Begin an unavailability if there was no response for long."""
        if client.lacks is None and client.under_way:
            since_ms = max(next(iter(client.under_way.values())).at_ms, client.last_good_ms)
            if now_ms - since_ms >= WAITING_MS:
                client.lacks = self._lack(node, since_ms, "is not answered")

    def _lack(self, node: str, at_ms: float, how: str, *events: str) -> Seen:
        az = self._az(node)
        return Seen(
            finding="unavailable",
            at_ms=at_ms,
            who=(az, node),
            text=f"{az}: what {node} produces {how}",
            details={"az": az, "client": node},
            events=events,
        )

    def _az(self, node: str) -> str:
        return self._azs.get(node, OUTSIDE)
