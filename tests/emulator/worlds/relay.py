"""A relay between nodes.

Passes bytes on unchanged and keeps them, apart from the nodes' reports.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import msgpack  # type: ignore[import-untyped]
import trio

from emulator.worlds.network.spec import LOOPBACK


@dataclass
class Relay:
    """Listens on `port`; accepted connections go to `target_port`.

    `captured`: (towards the target, back) of each connection.
    """

    target_port: int = 0
    port: int = 0
    captured: list[tuple[bytearray, bytearray]] = field(default_factory=list)

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        (listener,) = await trio.open_tcp_listeners(0, host=LOOPBACK)
        self.port = listener.socket.getsockname()[1]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(trio.serve_listeners, self._pass_on, [listener]))
            task_status.started()

    async def _pass_on(self, dialled: trio.SocketStream) -> None:
        try:
            target = await trio.open_tcp_stream(LOOPBACK, self.target_port)
        except OSError:
            return
        there, back = bytearray(), bytearray()
        self.captured.append((there, back))
        async with target, trio.open_nursery() as nursery:
            nursery.start_soon(self._copy, dialled, target, there)
            nursery.start_soon(self._copy, target, dialled, back)

    async def _copy(self, source: trio.SocketStream, sink: trio.SocketStream, stream: bytearray) -> None:
        try:
            while data := await source.receive_some():
                stream += data
                await sink.send_all(data)
            await sink.send_eof()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            await trio.aclose_forcefully(sink)


def frames(stream: bytes) -> Iterator[list[object]]:
    """The whole frames of a captured stream, by the msgpack library alone."""
    position = 0
    while position + 4 <= len(stream):
        (size_bytes,) = struct.unpack_from(">I", stream, position)
        if position + 4 + size_bytes > len(stream):
            return
        yield msgpack.unpackb(stream[position + 4 : position + 4 + size_bytes])
        position += 4 + size_bytes
