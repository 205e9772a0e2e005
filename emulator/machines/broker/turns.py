"""One at a time: whoever comes while somebody has the turn waits for it, in order (a monitor of Java's)."""

from collections import deque
from collections.abc import Callable

from protocol.work import Runner, Until, Work


class Turns:
    """`name`: for whoever looks at what waits. How many wait is bounded by how many threads there are."""

    __slots__ = ("_name", "_taken", "_threads", "_waiting")

    def __init__(self, name: str, threads: Runner) -> None:
        self._name = name
        self._threads = threads
        self._taken = False
        self._waiting: deque[Callable[[], None]] = deque()

    def take(self) -> Work[None]:
        """It is this thread's until it passes it on."""
        if self._taken:
            yield Until(self._name, self._waiting.append)
        self._taken = True

    def pass_on(self) -> None:
        """To the first of those who wait."""
        assert self._taken
        if self._waiting:
            self._waiting.popleft()()
        else:
            self._taken = False
