"""The door of a cluster that stays: TCP on loopback, one JSON line per request, the run's token in each.

An asker that is slow, silent or dead costs its own connection. The cluster's work is done elsewhere, and waits for no
asker.
"""

import hmac
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from emulator.live.requests import (
    LINE_BYTES_MAX,
    Answer,
    AnyAsk,
    Refused,
    decode_ask,
    decode_request,
    encode_answer,
    unknown,
    unusable,
)

LOOPBACK: Final = "127.0.0.1"
ASKERS_MAX: Final = 64
SILENCE_LIMIT_S: Final = 60.0
"""Between two lines of one asker."""
SEND_LIMIT_S: Final = 5.0
"""For an asker to take its answer."""
LAST_ANSWERS_S: Final = 0.5
"""For the last askers to take theirs, when the cluster ends."""

Answering = Callable[[AnyAsk, float], Awaitable[Answer]]


class Door:
    """`answer(ask, wait_s)` returns within about `wait_s`."""

    def __init__(self, token: str, answer: Answering) -> None:
        self._token = token.encode()
        self._answer = answer
        self._owed = 0
        self._quits = trio.Event()
        self.askers = 0

    async def serve(
        self, host: str = LOOPBACK, port: int = 0, *, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Until cancelled; its port (0: a free one) is told when it listens."""
        listeners = await trio.open_tcp_listeners(port, host=host)
        task_status.started(listeners[0].socket.getsockname()[1])
        await trio.serve_listeners(self._receive, listeners)

    async def quits(self) -> None:
        """Until nobody waits for an answer: to be called when no more questions come to anything."""
        while self._owed:
            await self._quits.wait()

    async def _receive(self, stream: trio.SocketStream) -> None:
        self.askers += 1
        try:
            async with stream:
                if self.askers > ASKERS_MAX:
                    await self._send(stream, unknown(f"{ASKERS_MAX} askers are at the door already: try again"))
                    return
                await self._serve(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            return  # its own loss
        finally:
            self.askers -= 1

    async def _serve(self, stream: trio.SocketStream) -> None:
        waiting = bytearray()
        while True:
            line = await self._line(stream, waiting)
            if line is None:
                return
            self._owed += 1
            try:
                try:
                    request = decode_request(line)
                    if not hmac.compare_digest(request.token.encode(), self._token):
                        await self._send(stream, unusable("not this run's token"))
                        return
                    answer = await self._answer(decode_ask(request), request.wait_s)
                except Refused as refused:
                    answer = unusable(refused)
                await self._send(stream, answer)
            finally:
                self._owed -= 1
                self._quits.set()
                self._quits = trio.Event()

    async def _line(self, stream: trio.SocketStream, waiting: bytearray) -> bytes | None:
        """The next line; None: there will be no more."""
        with trio.move_on_after(SILENCE_LIMIT_S):
            while True:
                line, end, rest = bytes(waiting).partition(b"\n")
                if end:
                    waiting[:] = rest
                    return line
                if len(waiting) > LINE_BYTES_MAX:
                    await self._send(stream, unusable(f"a request is one line of at most {LINE_BYTES_MAX} bytes"))
                    return None
                data = await stream.receive_some(LINE_BYTES_MAX)
                if not data:
                    return None
                waiting += data
        return None

    async def _send(self, stream: trio.SocketStream, answer: Answer) -> None:
        with trio.fail_after(SEND_LIMIT_S):
            await stream.send_all(encode_answer(answer))
