"""Line protocol of the control port: one JSON line per request, one per response.

The server closes the connection after the first line that is no request. It does not wait for the end of a line that
does not begin as a request.
"""

import hmac
import sys
import traceback

import trio

from emulator.cluster import control_context as d
from emulator.cluster.control_requests import (
    LINE_BYTES_MAX,
    Answer,
    Malformed,
    Refused,
    decode_ask,
    decode_request,
    encode_answer,
    token_of,
    unknown,
    unusable,
)


class LineTalk:
    """A connection of the line protocol. `waiting`: bytes that were already received."""

    def __init__(self, stream: trio.SocketStream, waiting: bytearray, desk: d.Desk) -> None:
        self._stream = stream
        self._waiting = waiting
        self._desk = desk
        self._line = b""

    async def begin(self) -> bool:
        return await self._next_line()

    async def serve(self) -> None:
        """Serve from the line that has shown the token."""
        while await self._answer_line():
            with trio.move_on_after(d.SILENCE_LIMIT_S) as silence:
                if not await self._next_line():
                    return
            if silence.cancelled_caught:
                return

    async def turn_away(self, answer: Answer) -> None:
        await self._send(answer)

    async def _next_line(self) -> bool:
        """Receive the next line; whether there is one, with the token."""
        line = await self._received()
        if line is None or not await self._shows_token(line):
            return False
        self._line = line
        return True

    async def _shows_token(self, line: bytes) -> bool:
        """Check the token alone; without it the refusal is the last response."""
        try:
            if hmac.compare_digest(token_of(line), self._desk.token):
                return True
            refused = unusable("not this run's token")
        except Malformed as malformed:
            refused = unusable(malformed)
        await self._send(refused)
        return False

    async def _answer_line(self) -> bool:
        """Answer the line; whether the connection stays open."""
        listens = True
        with self._desk.owing():
            try:
                request = decode_request(self._line)
                answer = await self._desk.answer(decode_ask(request), request.wait_s)
            except Refused as refused:
                answer, listens = unusable(refused), not isinstance(refused, Malformed)
            except Exception as error:  # a bug of ours: it is logged, and fails this client alone
                traceback.print_exc(file=sys.stderr)
                answer, listens = unknown(f"a bug; see the supervisor's log: {error!r}", why="bug"), False
            await self._send(answer)
        return listens

    async def _received(self) -> bytes | None:
        """The next line; None: there will be no more."""
        searched, waiting = 0, self._waiting
        while True:
            end = waiting.find(b"\n", searched)
            if end >= 0:
                line = bytes(waiting[:end])
                del waiting[: end + 1]
                return line
            searched = len(waiting)
            if waiting and waiting[:1] != b"{":
                return bytes(waiting)  # no request begins so: refused without its end
            if len(waiting) > LINE_BYTES_MAX:
                await self._send(unusable(f"a request is one line of at most {LINE_BYTES_MAX} bytes"))
                return None
            data = await self._stream.receive_some(LINE_BYTES_MAX)
            if not data:
                return None
            waiting += data

    async def _send(self, answer: Answer) -> None:
        await d.send(self._stream, encode_answer(answer))
