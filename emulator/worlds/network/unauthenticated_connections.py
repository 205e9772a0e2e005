"""Unauthenticated connections: those that have not shown the run's token yet.

They cost little: their number is limited, and their time. When one more comes, the oldest is closed, so that silent
ones never block a client with the token.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import trio

UNAUTHENTICATED_MAX: Final = 256
HELLO_LIMIT_REAL_S: Final = 10.0
"""Limit to show the token. A client that has it sends it with the first bytes."""


def descriptors() -> int:
    """Limit of descriptors of this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft > 0 else 1 << 20


class UnauthenticatedConnections:
    """At most `most` at a time; by default three quarters of the descriptors stay free."""

    def __init__(self, most: int = 0, limit_s: float = HELLO_LIMIT_REAL_S) -> None:
        self.most = most or max(1, min(UNAUTHENTICATED_MAX, descriptors() // 4))
        self._limit_s = limit_s
        self._scopes: dict[int, trio.CancelScope] = {}
        """In the order of their arrival."""
        self._came = 0
        self.let_go = 0
        """Number of connections closed for newer ones."""

    def __len__(self) -> int:
        return len(self._scopes)

    @contextmanager
    def one(self) -> Iterator[trio.CancelScope]:
        """Count an unauthenticated connection.

        Its scope is cancelled at its limit, or for a newer one.
        """
        if len(self._scopes) >= self.most:
            self.close_oldest()
        self._came += 1
        number = self._came
        with trio.move_on_after(self._limit_s) as scope:
            self._scopes[number] = scope
            try:
                yield scope
            finally:
                self._scopes.pop(number, None)

    def close_oldest(self) -> None:
        """Close the oldest, if there is one."""
        if self._scopes:
            self.let_go += 1
            self._scopes.pop(next(iter(self._scopes))).cancel()
