"""A partition's lock (Kafka's leaderIsrUpdateLock): many readers, one writer. Semantics 1.6.

Only a writer ever waits while it has the lock: for ZooKeeper, which records an ISR change. Threads that come
meanwhile queue. Adjacent readers in the queue get the lock together. The first wakes first and wakes the next, and
so reaches the log first. The others meet there while it appends, and go on in any order (a Java monitor has no
queue). The lock is not fair: a running thread may get it before the queued ones.
"""

from collections import deque
from collections.abc import Callable

from protocol.chance import Chance
from protocol.work import Runner, Until, Work

WAITING_MAX = 10_000
"""Bound of threads that wait for one partition: request handlers and a few more."""


class PartitionLock:
    """Lock of one partition. `held`: a writer has it, and waits meanwhile.

    `chance`: draws the order in which readers that are admitted together go on.
    """

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
        """Number of queued threads."""
        return len(self._waiting)

    def is_free(self) -> bool:
        """Whether there is no writer, and no admitted reader that has not read yet."""
        return not self.held and not self._let_in

    def reading(self) -> Work[None]:
        """Wait until there is no writer. The caller reads before its next wait."""
        if self.held:
            yield Until(f"{self._name}'s lock", lambda go_on: self._wait(go_on, writes=False))
            self._let_in -= 1
            self._serve_later()

    def writing(self) -> Work[None]:
        """Wait until no other thread has the lock.

        The caller writes before its next wait; a write that waits is between `hold` and `release`.
        """
        if self.is_free():
            return
        yield Until(f"{self._name}'s lock", lambda go_on: self._wait(go_on, writes=True))
        while not self.is_free():  # another thread was faster; this one stays first in the queue
            yield Until(f"{self._name}'s lock", lambda go_on: self._waiting.appendleft((True, go_on)))
        self._serve_later()

    def hold(self) -> None:
        """Hold the lock: other threads wait from now on."""
        assert self.is_free()
        self.held = True

    def release(self) -> None:
        """Release the lock; queued threads go on at the end of this step.

        A thread that takes it before goes first.
        """
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
