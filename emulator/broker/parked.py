"""Parked requests: answers that wait (Kafka's purgatories). Semantics 1.8, 1.9.

A produce with acks=-1 waits for the high watermark; a fetch waits for data. Each has a timer; whoever comes first,
the event or the timer, completes it, once."""

from collections.abc import Callable

from protocol.machine import Outbox

PARKED_MAX = 20_000
"""Requests parked per broker; more is a bug or an attack, and refused with REQUEST_TIMED_OUT at once."""


class Parked:
    """One waiting request. `try_complete` returns whether it is done (and then has answered); `expire` answers now.

    It may be registered with several partitions; `done` keeps it from being answered twice.
    """

    __slots__ = ("done", "expire", "number", "try_complete")

    def __init__(self, try_complete: Callable[[], bool], expire: Callable[[], None]) -> None:
        self.try_complete = try_complete
        self.expire = expire
        self.done = False
        self.number = 0


class Purgatory:
    """All parked requests of one kind on a broker, by number; the timer's key is (`name`, number)."""

    __slots__ = ("_next", "_out", "name", "waiting")

    def __init__(self, name: str, out: Outbox) -> None:
        self.name = name
        self._out = out
        self._next = 1
        self.waiting: dict[int, Parked] = {}

    def park(self, parked: Parked, after_ms: float) -> bool:
        """Returns False (and answers at once) when the bound is reached."""
        if len(self.waiting) >= PARKED_MAX:
            parked.done = True
            parked.expire()
            return False
        parked.number = self._next
        self._next += 1
        self.waiting[parked.number] = parked
        self._out.set_timer((self.name, parked.number), after_ms)
        return True

    def check(self, parked: Parked) -> None:
        """Something changed: complete it if it can be."""
        if not parked.done and parked.try_complete():
            self._finish(parked)
            self._out.cancel_timer((self.name, parked.number))

    def expired(self, number: int) -> None:
        """Its timer fired."""
        parked = self.waiting.get(number)
        if parked is not None:
            self._finish(parked)
            parked.expire()

    def _finish(self, parked: Parked) -> None:
        parked.done = True
        self.waiting.pop(parked.number, None)
