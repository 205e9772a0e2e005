"""FIFO mutex of a broker's threads (a Java monitor, but with a queue)."""

from collections import deque
from collections.abc import Callable

from protocol.work import Runner, Until, Work


class Turns:
    """FIFO mutex. `name`: for status reports. The number of threads bounds its waiters."""

    __slots__ = ("_name", "_taken", "_threads", "_waiting")

    def __init__(self, name: str, threads: Runner) -> None:
        self._name = name
        self._threads = threads
        self._taken = False
        self._waiting: deque[Callable[[], None]] = deque()

    def take(self) -> Work[None]:
        """Take the mutex, or wait for it; `pass_on` releases it."""
        if self._taken:
            yield Until(self._name, self._waiting.append)
        self._taken = True

    def pass_on(self) -> None:
        """Pass the mutex on to the first waiter, if any."""
        assert self._taken
        if self._waiting:
            self._waiting.popleft()()
        else:
            self._taken = False
