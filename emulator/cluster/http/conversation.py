"""One HTTP/1 connection: its requests in turn, each within bounds of size and time.

Before the token the server reads nothing but a head, and waits for no body. A request that is refused for its form, its
token or its size is answered and ends the connection, for the bytes after it are ambiguous.
"""

import sys
import traceback
from contextlib import aclosing
from email.utils import formatdate
from typing import Any, Final, cast

import h11
import trio

from emulator.cluster import control_context as d
from emulator.cluster.control_requests import BODY_BYTES_MAX, HEAD_BYTES_MAX, Answer, AnyAsk, Refused, unknown, unusable
from emulator.cluster.http.admission import ACCESS_HEADER, Access, Head, HttpRefused, admit, admit_origin
from emulator.cluster.http.description import description
from emulator.cluster.http.replying import Reply, document, headers_of, refusal, reply_to, turned_away
from emulator.cluster.http.request_parsing import HttpRequest, read_request
from emulator.cluster.http.route import AUDIT, EVENT_STREAM, STREAM
from emulator.cluster.page.page_files import page_file
from emulator.cluster.page.state_stream import READERS_MAX, StateStream

BODY_LIMIT_S: Final = 10.0
"""Limit for a body to arrive, from the end of its head."""
RECEIVE_BYTES: Final = 4096
STREAM_HEADERS: Final = (
    ("content-type", EVENT_STREAM), ("cache-control", "no-store"), ("x-content-type-options", "nosniff"),
)  # fmt: skip
LEFTOVER_BYTES_MAX: Final = 1 << 20
LEFTOVER_LIMIT_S: Final = 1.0
"""Time to read remaining input when a connection is closed.

Otherwise the reset would take the answer away from a client that is still sending.
"""


class HttpTalk:
    """`begin` returns whether the client has shown the token; otherwise it has been answered.

    Then `serve` until its end, or `turn_away`.
    """

    def __init__(self, stream: trio.SocketStream, desk: d.Desk) -> None:
        self._stream = stream
        self._desk = desk
        self._peer = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
        self._head = Head("", "", ())
        self._access: Access = "read-only"
        self._reads_after: str | None = None
        """Last event's id of a reader of the stream; None: the client is none."""

    async def begin(self) -> bool:
        return await self._next_head()

    async def serve(self) -> None:
        """Serve from the head that has shown the token."""
        while await self._answer_request():
            self._peer.start_next_cycle()
            with trio.move_on_after(d.SILENCE_LIMIT_S) as silence:
                if not await self._next_head():
                    return
            if silence.cancelled_caught:
                return

    async def stream(self) -> None:
        """Send the stream of states to a client that has requested it; others have been served."""
        states = self._desk.stream
        if states is None or self._reads_after is None:
            return
        headers = [("date", formatdate(usegmt=True)), *STREAM_HEADERS, (ACCESS_HEADER, self._access)]
        headers.append(("connection", "close"))
        await d.send(self._stream, self._peer.send(h11.Response(status_code=200, headers=headers)) or b"")
        with trio.CancelScope() as gone:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._until_gone, gone)
                await self._send_events(states, self._reads_after)
                gone.cancel()

    async def _send_events(self, states: StateStream, last_event_id: str) -> None:
        try:
            async with aclosing(states.events(last_event_id)) as events:
                async for event in events:
                    await d.send(self._stream, self._peer.send(h11.Data(data=event)) or b"")
            await d.send(self._stream, self._peer.send(h11.EndOfMessage()) or b"")
        except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            return  # the reader's own loss; it resumes

    async def _until_gone(self, gone: trio.CancelScope) -> None:
        """Cancel when the reader closes its connection; other input is dropped."""
        try:
            while await self._stream.receive_some(RECEIVE_BYTES):
                pass
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        gone.cancel()

    async def turn_away(self, answer: Answer) -> None:
        await self._end_with(turned_away(answer))

    async def _next_head(self) -> bool:
        """Whether there is a next head, and its request is authorized."""
        self._head = Head("", "", ())
        try:
            event = await self._next_event()
            if not isinstance(event, h11.Request):
                return False
            headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers)
            self._head = Head(event.method.decode("latin-1"), event.target.decode("latin-1"), headers)
            if self._desk.has_page and (file := page_file(self._head.method, self._head.target)) is not None:
                admit_origin(self._head, self._desk.hosts, has_page=True)
                await self._end_with(file)
                return False
            self._access = admit(self._head, self._desk.token, self._desk.hosts, has_page=self._desk.has_page)
        except HttpRefused as refused:
            await self._end_with(refusal(refused))
            return False
        except h11.RemoteProtocolError as error:
            await self._end_with(_no_request(error))
            return False
        return True

    async def _answer_request(self) -> bool:
        """Whether the next request may come."""
        try:
            body = await self._body()
        except HttpRefused as refused:
            await self._end_with(refusal(refused))
            return False
        except h11.RemoteProtocolError as error:
            await self._end_with(_no_request(error))
            return False
        with self._desk.owing():
            try:
                request = read_request(self._head.method, self._head.target, body)
                if request.route.path == STREAM and self._head.method == "GET":
                    self._reads_after = self._reader(request)
                    return False
                reply = await self._reply(request)
            except HttpRefused as refused:
                reply = refusal(refused)
            await self._send(reply)
        return self._peer.our_state is h11.DONE and self._peer.their_state is h11.DONE

    def _reader(self, request: HttpRequest) -> str:
        """The last event's id of a new reader of the stream. Raises HttpRefused."""
        states = self._desk.stream
        if states is None:
            raise HttpRefused(409, "this control server has no stream of states")
        if states.readers >= READERS_MAX:
            raise HttpRefused(503, f"{READERS_MAX} readers have the stream; end one, or try again")
        return str(request.inputs.after) or next(iter(self._head.all_of("last-event-id")), "")

    async def _reply(self, request: HttpRequest) -> Reply:
        if request.ask is None and request.route.path != AUDIT:
            return document(description())
        try:
            if request.ask is None:
                answer = await self._desk.audit(request.wait_s)
            else:
                answer = await self._desk.answer(cast(AnyAsk, request.ask), request.wait_s)
        except Refused as refused:
            answer = unusable(refused)
        except Exception as error:  # a bug of ours: it is logged, and fails this client alone
            traceback.print_exc(file=sys.stderr)
            answer = unknown(f"a bug; see the supervisor's log: {error!r}", why="bug")
        return reply_to(request.route, answer, request.notices, ", ".join(self._head.all_of("accept")))

    async def _body(self) -> bytes:
        """The whole body. Raises HttpRefused, h11.RemoteProtocolError."""
        too_long = HttpRefused(413, f"a body is of at most {BODY_BYTES_MAX} bytes")
        if any(int(length) > BODY_BYTES_MAX for length in self._head.all_of("content-length")):
            raise too_long
        body = bytearray()
        with trio.move_on_after(BODY_LIMIT_S):
            while True:
                event = await self._next_event()
                if isinstance(event, h11.EndOfMessage):
                    return bytes(body)
                assert isinstance(event, h11.Data), event
                body += event.data
                if len(body) > BODY_BYTES_MAX:
                    raise too_long
        raise HttpRefused(408, f"the body did not arrive within {BODY_LIMIT_S:g} s")

    async def _next_event(self) -> Any:
        """Raises h11.RemoteProtocolError."""
        while True:
            event = self._peer.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._peer.they_are_waiting_for_100_continue:
                go_on = self._peer.send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
                await d.send(self._stream, go_on or b"")
            self._peer.receive_data(await self._stream.receive_some(RECEIVE_BYTES))

    async def _send(self, reply: Reply, *, close: bool = False) -> None:
        headers = headers_of(reply, formatdate(usegmt=True), close=close)
        head = h11.Response(status_code=reply.status, headers=headers, reason=reply.reason.encode())
        data = self._peer.send(head) or b""
        if self._head.method != "HEAD":
            data += self._peer.send(h11.Data(data=reply.body)) or b""
        await d.send(self._stream, data + (self._peer.send(h11.EndOfMessage()) or b""))

    async def _end_with(self, reply: Reply) -> None:
        """Send the last reply; remaining input is read for a moment, and dropped."""
        if self._peer.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        await self._send(reply, close=True)
        await self._stream.send_eof()
        with trio.move_on_after(LEFTOVER_LIMIT_S):
            for _ in range(LEFTOVER_BYTES_MAX // RECEIVE_BYTES):
                if not await self._stream.receive_some(RECEIVE_BYTES):
                    return


def _no_request(error: h11.RemoteProtocolError) -> Reply:
    return refusal(HttpRefused(error.error_status_hint, f"not a request: {error}"))
