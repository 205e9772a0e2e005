"""Kafka's threads, as far as they get into each other's way. Semantics 1.6.

What a thread does is *work*: a generator that reads like Kafka's blocking code, and yields what it has to wait for.

    work --yield Until--> waiting --answered--> ready --at the end of the step--> goes on

Whatever is waited for (a partition's lock, the session service, a turn) only notes that a thread can go on; the step
that is under way lets all of them go on at its end, one after the other. So no completion ever runs inside another,
however long the line of those who waited. A thread that waits does nothing else meanwhile: a request handler serves
nobody, the one that expires parked fetches expires none."""

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import msgspec

R = TypeVar("R")
Done = Callable[..., None]
"""Called once, with what was waited for where that is something."""


class Until:
    """`begin` is given what to call, once, with what was waited for; perhaps at once. `what`: for whoever looks."""

    __slots__ = ("begin", "what")

    def __init__(self, what: str, begin: Callable[[Done], None]) -> None:
        self.what = what
        self.begin = begin


Work = Generator[Until, Any, R]


class Waiting(msgspec.Struct, frozen=True):
    """A thread that waits: for what, and since when."""

    thread: str
    does: str
    waits_for: str
    since_ms: float


class Thread:
    """One piece of work under way."""

    __slots__ = ("_ended", "_threads", "_work", "does", "name", "since_ms", "waits_for")

    def __init__(self, threads: "Threads", name: str, does: str, work: Work[Any], ended: Callable[[], None]) -> None:
        self._threads = threads
        self._work = work
        self._ended = ended
        self.name = name
        self.does = does
        self.waits_for = ""
        self.since_ms = 0.0

    def go_on(self, value: Any) -> None:
        """Until it waits for what is not there yet, or ends."""
        self._threads.waiting.pop(self, None)
        try:
            until = self._work.send(value)
        except StopIteration:
            self._ended()
        else:
            self.wait(until)

    def wait(self, until: Until) -> None:
        """For that, and for what it waits for next if that is there already."""
        while True:
            answer = _Answer(self)
            until.begin(answer)
            if not answer.came:
                answer.waited_for = True
                self.waits_for = until.what
                self.since_ms = self._threads.now_ms()
                self._threads.waiting[self] = None
                return
            try:
                until = self._work.send(answer.value)
            except StopIteration:
                self._ended()
                return


class _Answer:
    """What a thread waits for has come: at once, or later."""

    __slots__ = ("_thread", "came", "value", "waited_for")

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self.came = False
        self.waited_for = False
        self.value: Any = None

    def __call__(self, value: Any = None) -> None:
        assert not self.came, f"{self._thread.name} is told twice what it waited for"
        self.came = True
        self.value = value
        if self.waited_for:
            self._thread._threads.ready.append(lambda: self._thread.go_on(value))


class Threads:
    """Those of one broker that do something. `ready`: what goes on before this step is over, in order."""

    def __init__(self, now_ms: Callable[[], float]) -> None:
        self.now_ms = now_ms
        self.ready: deque[Callable[[], None]] = deque()
        self.waiting: dict[Thread, None] = {}

    def start(self, name: str, does: str, work: Work[Any], ended: Callable[[], None] = lambda: None) -> None:
        """Do it, as far as it goes; `ended` is called when it is over."""
        try:
            until = work.send(None)
        except StopIteration:  # most work waits for nothing
            ended()
        else:
            Thread(self, name, does, work, ended).wait(until)

    def go_on(self) -> None:
        """At the end of a step: whoever can go on does, and whoever can go on by that."""
        while self.ready:
            self.ready.popleft()()

    def who_waits(self) -> list[Waiting]:
        """Those that wait for something, the longest first."""
        return [Waiting(one.name, one.does, one.waits_for, one.since_ms) for one in self.waiting]


class SingleThread:
    """A thread of its own with a queue of work, each piece done when the one before is over."""

    __slots__ = ("_busy", "_name", "_queue", "_threads")

    def __init__(self, threads: Threads, name: str) -> None:
        self._threads = threads
        self._name = name
        self._queue: deque[tuple[str, Work[None]]] = deque()
        self._busy = False

    def do(self, does: str, work: Work[None]) -> None:
        """Now, or when its turn comes. Whoever asks bounds how much is queued."""
        if self._busy:
            self._queue.append((does, work))
            return
        self._busy = True
        self._threads.start(self._name, does, work, self._ended)

    @property
    def queued(self) -> int:
        return len(self._queue)

    def _ended(self) -> None:
        self._busy = False
        if self._queue:
            self._threads.ready.append(self._next)

    def _next(self) -> None:
        if not self._busy and self._queue:
            self._busy = True
            self._threads.start(self._name, *self._queue.popleft(), self._ended)
