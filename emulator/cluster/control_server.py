"""The control server of a cluster that stays: TCP on loopback, one JSON line per request, the run's token in each.

An asker that is slow, silent or dead costs its own connection. The cluster's work is done elsewhere, and waits for no
asker. Nothing that is said here ends anything but the connection it is said on: after the first line that is no request
it is closed, and what cannot become one (HTTP, say) is not even waited for to its line's end.
"""

import hmac
import socket
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from emulator.cluster.requests import (
    LINE_BYTES_MAX,
    Answer,
    AnyAsk,
    Malformed,
    Refused,
    decode_ask,
    decode_request,
    encode_answer,
    token_of,
    unknown,
    unusable,
)
from emulator.exit_codes import UNKNOWN
from emulator.worlds.network.accepting import accept_all
from emulator.worlds.network.ports import BACKLOG
from emulator.worlds.network.strangers import Strangers

LOOPBACK: Final = "127.0.0.1"
ASKERS_MAX: Final = 64
"""With the token."""
STRANGERS_MAX: Final = 64
SILENCE_LIMIT_S: Final = 60.0
"""Between two lines of one asker; a stranger has less (HELLO_LIMIT_REAL_S)."""
SEND_LIMIT_S: Final = 5.0
"""For an asker to take its answer."""
LAST_ANSWERS_S: Final = 0.5
"""For the last askers to take theirs, when the cluster ends."""

Answering = Callable[[AnyAsk, float], Awaitable[Answer]]


class ControlServer:
    """`answer(ask, wait_s)` returns within about `wait_s`."""

    def __init__(self, token: str, answer: Answering) -> None:
        self._token = token.encode()
        self._answer = answer
        self._owed = 0
        self._quits = trio.Event()
        self.strangers = Strangers(STRANGERS_MAX)
        self.askers = 0
        """Who have shown the token."""

    async def serve(
        self, host: str = LOOPBACK, port: int = 0, *, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Until cancelled; its port (0: a free one) is told when it listens."""
        with socket.create_server((host, port), backlog=BACKLOG) as listener:
            async with trio.open_nursery() as nursery:

                def take(sock: socket.socket, _address: str) -> None:
                    stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock))
                    nursery.start_soon(self._receive, stream)

                task_status.started(listener.getsockname()[1])
                await accept_all(listener, take, self.strangers.let_oldest_go)

    async def quits(self) -> None:
        """Until nobody waits for an answer: to be called when no more questions come to anything."""
        while self._owed:
            await self._quits.wait()

    async def _receive(self, stream: trio.SocketStream) -> None:
        waiting = bytearray()
        first, known = None, False
        try:
            async with stream:
                with self.strangers.one():
                    first = await self._line(stream, waiting)
                    known = first is not None and await self._shows_token(stream, first)
                    # From here to the count of askers nothing is awaited.
                if first is None or not known:
                    return
                self.askers += 1
                try:
                    if self.askers > ASKERS_MAX:
                        await self._send(stream, unknown(f"{ASKERS_MAX} askers are there already: try again"))
                        return
                    await self._serve(stream, first, waiting)
                finally:
                    self.askers -= 1
        except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            return  # its own loss
        except Exception:  # a bug of ours: it is written down, and costs this asker alone
            traceback.print_exc(file=sys.stderr)

    async def _shows_token(self, stream: trio.SocketStream, line: bytes) -> bool:
        """Nothing but the token is looked at; without it, this is the last word."""
        try:
            if hmac.compare_digest(token_of(line), self._token):
                return True
            refused = unusable("not this run's token")
        except Malformed as malformed:
            refused = unusable(malformed)
        await self._send(stream, refused)
        return False

    async def _serve(self, stream: trio.SocketStream, line: bytes, waiting: bytearray) -> None:
        """`line` is the first, with the token."""
        while True:
            if not await self._answer_line(stream, line):
                return
            with trio.move_on_after(SILENCE_LIMIT_S) as silence:
                following = await self._line(stream, waiting)
                if following is None or not await self._shows_token(stream, following):
                    return
                line = following
            if silence.cancelled_caught:
                return

    async def _answer_line(self, stream: trio.SocketStream, line: bytes) -> bool:
        """Whether the next line may come."""
        self._owed += 1
        listens = True
        try:
            try:
                request = decode_request(line)
                answer = await self._answer(decode_ask(request), request.wait_s)
            except Refused as refused:
                answer, listens = unusable(refused), not isinstance(refused, Malformed)
            except Exception as error:  # a bug of ours: it is written down, and costs this asker alone
                traceback.print_exc(file=sys.stderr)
                answer, listens = Answer(UNKNOWN, f"a bug; see the supervisor's log: {error!r}"), False
            await self._send(stream, answer)
        finally:
            self._owed -= 1
            self._quits.set()
            self._quits = trio.Event()
        return listens

    async def _line(self, stream: trio.SocketStream, waiting: bytearray) -> bytes | None:
        """The next line; None: there will be no more."""
        searched = 0
        while True:
            end = waiting.find(b"\n", searched)
            if end >= 0:
                line = bytes(waiting[:end])
                del waiting[: end + 1]
                return line
            searched = len(waiting)
            if waiting and waiting[:1] != b"{":
                return bytes(waiting)  # it will not become a request: refused as it is
            if len(waiting) > LINE_BYTES_MAX:
                await self._send(stream, unusable(f"a request is one line of at most {LINE_BYTES_MAX} bytes"))
                return None
            data = await stream.receive_some(LINE_BYTES_MAX)
            if not data:
                return None
            waiting += data

    async def _send(self, stream: trio.SocketStream, answer: Answer) -> None:
        with trio.fail_after(SEND_LIMIT_S):
            await stream.send_all(encode_answer(answer))
