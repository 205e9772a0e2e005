"""Purgatories of delayed requests, as Kafka's. Semantics 1.8, 1.9.

A produce with acks=-1 waits for the high watermark; a fetch waits for data. Each has a deadline. Its condition or
its deadline completes it, once, whichever comes first. Checking and completing may take a partition's lock. So both
are work of the executing thread, which may have to wait (semantics 1.6). Each purgatory has one thread for
deadlines.
"""

from functools import partial

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_state import Parked
from emulator.machines.broker.request_channel import Request
from emulator.machines.broker.threads import SingleThread
from protocol.machine import Now
from protocol.outbox import Outbox
from protocol.work import Work

PARKED_MAX = 20_000
"""Bound of parked requests per broker.

Beyond it (a bug or an attack) a request expires at once.
"""


class Delayed:
    """One delayed request.

    Several partitions may cause its checks: `done` prevents a second response, `busy` and `again` two concurrent
    checks.
    """

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
        """Text of its missing condition."""
        raise NotImplementedError

    def ready(self) -> bool | Work[bool]:
        """Whether it can be completed; work, where the check has to wait."""
        raise NotImplementedError

    def complete(self) -> Work[None] | None:
        """Send the response. No check follows."""
        raise NotImplementedError

    def expire(self) -> Work[None] | None:
        """Send the response at the deadline."""
        raise NotImplementedError


class Purgatory:
    """All delayed requests of one kind on a broker, by number; timer key (`name`, number)."""

    __slots__ = ("_context", "_expiry", "_next", "name", "waiting")

    def __init__(self, name: str, context: BrokerContext) -> None:
        self.name = name
        self._context = context
        self._expiry = SingleThread(context.threads, f"{name}-expiry")
        self._next = 1
        self.waiting: dict[int, Delayed] = {}

    def park(self, delayed: Delayed, after_ms: float) -> bool:
        """Park a request. False: there is no room, and it expires now."""
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

    def check(self, delayed: Delayed) -> Work[None] | None:
        """Check a request after a change, and complete it; the work to do for it, if any.

        A thread that is checking it repeats the check.
        """
        if delayed.done:
            return None
        if delayed.busy:
            delayed.again = True
            return None
        ready = delayed.ready()
        if not isinstance(ready, bool):
            return self._check_again(delayed, ready)
        return self._complete(delayed) if ready else None

    def check_all(self, parked: dict[int, Delayed]) -> Work[None]:
        """Check the requests that are parked at a partition."""
        for delayed in list(parked.values()):
            work = self.check(delayed)
            if work is not None:
                yield from work

    def _check_again(self, delayed: Delayed, ready: bool | Work[bool]) -> Work[None]:
        """Go on with a check that has to wait; repeat it if another one was due meanwhile."""
        delayed.busy = delayed.again = True
        while delayed.again and not delayed.done:
            delayed.again = False
            if not isinstance(ready, bool):
                ready = yield from ready
            if ready and not delayed.done:
                completing = self._complete(delayed)
                if completing is not None:
                    yield from completing
            elif delayed.again and not delayed.done:
                ready = delayed.ready()
        delayed.busy = False

    def _complete(self, delayed: Delayed) -> Work[None] | None:
        self._finish(delayed)
        if delayed.number:  # it may be complete before it is parked
            self._context.out.cancel_timer((self.name, delayed.number))
        return delayed.complete()

    def _due(self, number: int, now: Now, out: Outbox) -> None:
        """Queue an expired request for the thread of deadlines."""
        self._expiry.do("expire", self._expire(number))

    def _expire(self, number: int) -> Work[None]:
        delayed = self.waiting.get(number)
        if delayed is not None:
            self._finish(delayed)
            expiring = delayed.expire()
            if expiring is not None:
                yield from expiring

    def parked(self) -> list[Parked]:
        """The parked requests, the oldest first; the broker's own have no connection."""
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
