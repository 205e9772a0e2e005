"""A client that speaks HTTP by hand, well or badly."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from tests.live.test_control_server import TOKEN
from tests.patience import PATIENCE_S

LET_IN = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"


class AcceptedMessages:
    """A reply. `body`: None, it was none of JSON."""

    def __init__(self, status: int, headers: dict[str, str], body: Any) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def error(self) -> str:
        return str(self.body["error"])


class Web:
    """A connection on which HTTP is spoken by hand."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._waiting = b""

    async def say(self, text: str | bytes) -> None:
        await self.stream.send_all(text if isinstance(text, bytes) else text.encode())

    async def get(self, path: str = "/v1/status", more: str = "") -> AcceptedMessages | None:
        await self.say(f"GET {path} HTTP/1.1\r\n{LET_IN}{more}\r\n")
        return await self.hear()

    async def hear(self, *, head_only: bool = False) -> AcceptedMessages | None:
        """None: the connection was closed."""
        with trio.fail_after(PATIENCE_S):
            head = await self._until(b"\r\n\r\n")
            if head is None:
                return None
            first, *lines = head.decode().split("\r\n")
            headers = dict(one.split(": ", 1) for one in lines)
            length = 0 if head_only or first.split()[1] == "100" else int(headers["content-length"])
            while len(self._waiting) < length:
                self._waiting += await self.stream.receive_some(65536)
            body, self._waiting = self._waiting[:length], self._waiting[length:]
        return AcceptedMessages(int(first.split()[1]), headers, json.loads(body) if body else None)

    async def is_closed(self) -> bool:
        with trio.fail_after(PATIENCE_S):
            try:
                return not self._waiting and not await self.stream.receive_some(1)
            except trio.BrokenResourceError:
                return True

    async def _until(self, end: bytes) -> bytes | None:
        while end not in self._waiting:
            data = await self.stream.receive_some(65536)
            if not data:
                return None
            self._waiting += data
        head, _, self._waiting = self._waiting.partition(end)
        return head


@asynccontextmanager
async def web(port: int) -> AsyncIterator[Web]:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        yield Web(stream)
