"""A partition's lock (Kafka's leaderIsrUpdateLock): many read at once, one writes. Semantics 1.6.

Only who writes ever waits while it has the lock: for the session service, which is to record an ISR change. Whoever
comes meanwhile stands in line. Those who read and stand beside each other in it get the lock together: the first is
woken first and wakes the next, and so is first at the log; the others meet there while it appends, and go on in any
order (a Java monitor has no line). The lock is not fair: somebody who is running may have it before those who stand in
line."""

from collections import deque
from collections.abc import Callable

from protocol.chance import Chance
from protocol.work import Runner, Until, Work

WAITING_MAX = 10_000
"""Threads that may wait for one partition; a broker has its request handlers and a few more."""


class PartitionLock:
    """`held`: somebody writes, and waits meanwhile. `chance`: in which order those that are let in together go on."""

    __slots__ = ("_chance", "_let_in", "_name", "_threads", "_waiting", "held")

    def __init__(self, name: str, threads: Runner, chance: Callable[[], Chance]) -> None:
        self._name = name
        self._threads = threads
        self._chance = chance
        self._waiting: deque[tuple[bool, Callable[[], None]]] = deque()
        self._let_in = 0
        self.held = False

    @property
    def waiting(self) -> int:
        """How many stand in line."""
        return len(self._waiting)

    def is_free(self) -> bool:
        """Nobody writes, and nobody has been let in who has not read yet."""
        return not self.held and not self._let_in

    def reading(self) -> Work[None]:
        """Until nobody writes. What is read is read before the next wait."""
        if self.held:
            yield Until(f"{self._name}'s lock", lambda go_on: self._wait(go_on, writes=False))
            self._let_in -= 1
            self._serve_later()

    def writing(self) -> Work[None]:
        """Until nobody else has it. What takes no wait is written before the next one; what does, between `hold` and
        `release`."""
        if self.is_free():
            return
        yield Until(f"{self._name}'s lock", lambda go_on: self._wait(go_on, writes=True))
        while not self.is_free():  # somebody was faster, and it is still the first in line
            yield Until(f"{self._name}'s lock", lambda go_on: self._waiting.appendleft((True, go_on)))
        self._serve_later()

    def hold(self) -> None:
        """From now on others wait."""
        assert self.is_free()
        self.held = True

    def release(self) -> None:
        """Others go on, at the end of this step; whoever takes it before has it before them."""
        assert self.held
        self.held = False
        self._serve_later()

    def _wait(self, go_on: Callable[[], None], *, writes: bool) -> None:
        assert len(self._waiting) < WAITING_MAX, f"{len(self._waiting)} wait for {self._name}"
        self._waiting.append((writes, go_on))

    def _serve_later(self) -> None:
        if self._waiting and self.is_free():
            self._threads.ready.append(self._serve)

    def _serve(self) -> None:
        if not self._waiting or not self.is_free():
            return
        if self._waiting[0][0]:
            self._waiting.popleft()[1]()
            return
        readers: list[Callable[[], None]] = []
        while self._waiting and not self._waiting[0][0]:
            readers.append(self._waiting.popleft()[1])
        self._let_in = len(readers)
        for go_on in (readers[0], *self._chance().shuffled(readers[1:])):
            go_on()
