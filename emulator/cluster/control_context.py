"""State shared by all control connections: request handler, count of pending answers."""

from collections.abc import Awaitable, Callable, Iterator, Set
from contextlib import contextmanager
from typing import Final

import trio

from emulator.cluster.control_requests import Answer, AnyAsk, unusable
from emulator.cluster.page.state_stream import StateStream

SILENCE_LIMIT_S: Final = 60.0
"""Limit between two requests of a client; before the token it is HELLO_LIMIT_REAL_S."""
SEND_LIMIT_S: Final = 5.0
"""Limit for a client to receive its answer."""

Answering = Callable[[AnyAsk, float], Awaitable[Answer]]
Auditing = Callable[[float], Awaitable[Answer]]


async def no_audit(_wait_s: float) -> Answer:
    return unusable("this cluster is not audited over HTTP")


class Desk:
    """`answer(ask, wait_s)` returns within about `wait_s`, and so does `audit(wait_s)`.

    `hosts`: our names and addresses beside loopback's. `stream`: of the cluster's states. `has_page`: the live page is
    served, too.
    """

    def __init__(
        self, token: str, answer: Answering, audit: Auditing = no_audit, hosts: Set[str] = frozenset(), *,
        stream: StateStream | None = None, has_page: bool = False,
    ) -> None:  # fmt: skip
        self.token = token.encode()
        self.answer = answer
        self.audit = audit
        self.hosts = hosts
        self.stream = stream
        self.has_page = has_page
        self._owed = 0
        self._quits = trio.Event()

    @contextmanager
    def owing(self) -> Iterator[None]:
        """Count an answer as pending within the context."""
        self._owed += 1
        try:
            yield
        finally:
            self._owed -= 1
            self._quits.set()
            self._quits = trio.Event()

    async def quits(self) -> None:
        """Wait until no answer is pending; to be called when no further request is carried out."""
        while self._owed:
            await self._quits.wait()


async def send(stream: trio.SocketStream, data: bytes) -> None:
    """Send within SEND_LIMIT_S. Raises TooSlowError."""
    with trio.fail_after(SEND_LIMIT_S):
        await stream.send_all(data)
