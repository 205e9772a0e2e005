"""Strangers: connections that have not shown the run's token yet.

They cost little: so many at once, each for a limited time. When one more comes the oldest has to go, so that silent
ones never keep out somebody who has something to say.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import trio

STRANGERS_MAX: Final = 256
HELLO_LIMIT_REAL_S: Final = 10.0
"""To show the token. Who has it sends it with the first bytes."""


def descriptors() -> int:
    """How many this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft > 0 else 1 << 20


class Strangers:
    """`most` at a time, by default what leaves a process three quarters of its descriptors."""

    def __init__(self, most: int = 0, limit_s: float = HELLO_LIMIT_REAL_S) -> None:
        self.most = most or max(1, min(STRANGERS_MAX, descriptors() // 4))
        self._limit_s = limit_s
        self._scopes: dict[int, trio.CancelScope] = {}
        """In the order of their coming."""
        self._came = 0
        self.let_go = 0
        """How many had to make room."""

    def __len__(self) -> int:
        return len(self._scopes)

    @contextmanager
    def one(self) -> Iterator[trio.CancelScope]:
        """While a connection is a stranger's. The scope is cancelled when its time is over or it has to make room."""
        if len(self._scopes) >= self.most:
            self.let_oldest_go()
        self._came += 1
        number = self._came
        with trio.move_on_after(self._limit_s) as scope:
            self._scopes[number] = scope
            try:
                yield scope
            finally:
                self._scopes.pop(number, None)

    def let_oldest_go(self) -> None:
        """If there is one."""
        if self._scopes:
            self.let_go += 1
            self._scopes.pop(next(iter(self._scopes))).cancel()
