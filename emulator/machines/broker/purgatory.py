"""Parked requests: answers that wait (Kafka's purgatories). Semantics 1.8, 1.9.

A produce with acks=-1 waits for the high watermark; a fetch waits for data. Each has a deadline; whoever comes first,
what it waits for or the deadline, completes it, once. To see whether it is complete, and to complete it, may take a
partition's lock: so both are work of the thread that does it, which may have to wait (semantics 1.6). Deadlines are one
thread's for each purgatory."""

from functools import partial

from emulator.machines.broker.context import BrokerContext
from emulator.machines.broker.parked import Parked
from emulator.machines.broker.requests import Request
from emulator.machines.broker.threads import SingleThread
from protocol.machine import Now
from protocol.outbox import Outbox
from protocol.work import Work

PARKED_MAX = 20_000
"""Requests parked per broker; more is a bug or an attack, and its deadline comes at once."""


class Delayed:
    """One parked request. It may be looked at by way of several partitions; `done` keeps it from being answered
    twice, `busy` and `again` from being looked at by two threads at once."""

    __slots__ = ("again", "busy", "deadline_ms", "done", "number", "request")

    def __init__(self, request: Request | None) -> None:
        self.request = request
        self.done = False
        self.busy = False
        self.again = False
        self.number = 0
        self.deadline_ms = 0.0

    @property
    def waits_for(self) -> str:
        """What it lacks."""
        raise NotImplementedError

    def ready(self) -> bool | Work[bool]:
        """Whether it can be completed; work, where that has to be waited for."""
        raise NotImplementedError

    def complete(self) -> Work[None] | None:
        """Answer. It is not looked at any more."""
        raise NotImplementedError

    def expire(self) -> Work[None] | None:
        """Its deadline is here: answer."""
        raise NotImplementedError


class Purgatory:
    """All parked requests of one kind on a broker, by number; the timer's key is (`name`, number)."""

    __slots__ = ("_context", "_expiry", "_next", "name", "waiting")

    def __init__(self, name: str, context: BrokerContext) -> None:
        self.name = name
        self._context = context
        self._expiry = SingleThread(context.threads, f"{name}-expiry")
        self._next = 1
        self.waiting: dict[int, Delayed] = {}

    def park(self, delayed: Delayed, after_ms: float) -> bool:
        """False: there is no room, and its deadline is now."""
        if len(self.waiting) >= PARKED_MAX:
            delayed.done = True
            self._expiry.do("expire", _answered(delayed.expire()))
            return False
        delayed.number = self._next
        self._next += 1
        delayed.deadline_ms = self._context.now.mono_ms + after_ms
        self.waiting[delayed.number] = delayed
        number = delayed.number
        self._context.out.set_timer((self.name, number), after_ms, partial(self._due, number))
        return True

    def check(self, delayed: Delayed) -> Work[None]:
        """Something changed: complete it if it can be. A thread that is at it looks once more."""
        delayed.again = True
        if delayed.busy:
            return
        delayed.busy = True
        while delayed.again and not delayed.done:
            delayed.again = False
            ready = delayed.ready()
            if not isinstance(ready, bool):
                ready = yield from ready
            if ready and not delayed.done:
                self._finish(delayed)
                if delayed.number:  # it may be complete before it is parked
                    self._context.out.cancel_timer((self.name, delayed.number))
                completing = delayed.complete()
                if completing is not None:
                    yield from completing
        delayed.busy = False

    def _due(self, number: int, now: Now, out: Outbox) -> None:
        """A deadline is here: it is answered, when the thread of deadlines comes to it."""
        self._expiry.do("expire", self._expire(number))

    def _expire(self, number: int) -> Work[None]:
        delayed = self.waiting.get(number)
        if delayed is not None:
            self._finish(delayed)
            expiring = delayed.expire()
            if expiring is not None:
                yield from expiring

    def parked(self) -> list[Parked]:
        """Those that wait, the oldest first; of what a broker asks of itself there is no connection."""
        return [
            Parked(
                one.request.connection if one.request is not None else 0,
                one.request.correlation_id if one.request is not None else 0,
                one.request.name if one.request is not None else "",
                one.deadline_ms,
                one.waits_for,
            )
            for one in self.waiting.values()
        ]

    def _finish(self, delayed: Delayed) -> None:
        delayed.done = True
        self.waiting.pop(delayed.number, None)


def _answered(work: Work[None] | None) -> Work[None]:
    if work is not None:
        yield from work
