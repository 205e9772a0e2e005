"""The desk: what every conversation of the control server shares, whatever it speaks. Who answers, how much is owed."""

from collections.abc import Awaitable, Callable, Iterator, Set
from contextlib import contextmanager
from typing import Final, Protocol

import trio

from emulator.cluster.requests import Answer, AnyAsk, unusable

SILENCE_LIMIT_S: Final = 60.0
"""Between two requests of one asker; a stranger has less (HELLO_LIMIT_REAL_S)."""
SEND_LIMIT_S: Final = 5.0
"""For an asker to take its answer."""

Answering = Callable[[AnyAsk, float], Awaitable[Answer]]
Auditing = Callable[[float], Awaitable[Answer]]


class Talk(Protocol):
    """One connection's conversation. `begin`, while it is a stranger's: whether it shows the token; else it has been
    told. Then `serve`, until there is no more, or `turn_away`."""

    async def begin(self) -> bool: ...

    async def serve(self) -> None: ...

    async def turn_away(self, answer: Answer) -> None: ...


async def no_audit(_wait_s: float) -> Answer:
    return unusable("this cluster is not audited over HTTP")


class Desk:
    """`answer(ask, wait_s)` returns within about `wait_s`, and so does `audit(wait_s)`. `hosts`: names and addresses of
    ours beside loopback's."""

    def __init__(
        self, token: str, answer: Answering, audit: Auditing = no_audit, hosts: Set[str] = frozenset()
    ) -> None:
        self.token = token.encode()
        self.answer = answer
        self.audit = audit
        self.hosts = hosts
        self._owed = 0
        self._quits = trio.Event()

    @contextmanager
    def owing(self) -> Iterator[None]:
        """While somebody waits for an answer."""
        self._owed += 1
        try:
            yield
        finally:
            self._owed -= 1
            self._quits.set()
            self._quits = trio.Event()

    async def quits(self) -> None:
        """Until nobody waits for an answer: to be called when no more questions come to anything."""
        while self._owed:
            await self._quits.wait()


async def send(stream: trio.SocketStream, data: bytes) -> None:
    """Raises TooSlowError for who does not take it."""
    with trio.fail_after(SEND_LIMIT_S):
        await stream.send_all(data)
