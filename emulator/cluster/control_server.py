"""The control server of a live cluster: TCP on loopback, the run's token in each request.

It speaks HTTP alone (`emulator.cluster.http`), to the command line, to Python programs and to any other client.

A client that is slow, silent or dead costs its own connection. The cluster's work goes on elsewhere, and waits for no
client. No request ends anything but its own connection.
"""

import os
import socket
import sys
import traceback
from collections.abc import Set
from typing import Final

import trio

from emulator.cluster.control_context import Answering, Auditing, Desk, no_audit
from emulator.cluster.control_requests import unknown
from emulator.cluster.http.conversation import HttpTalk
from emulator.cluster.page.state_stream import StateStream
from emulator.worlds.network.accepting import accept_all
from emulator.worlds.network.ports import BACKLOG, PortInUse
from emulator.worlds.network.unauthenticated_connections import UnauthenticatedConnections

LOOPBACK: Final = "127.0.0.1"
CLIENTS_MAX: Final = 64
"""Limit of connections that have shown the token."""
UNAUTHENTICATED_MAX: Final = 64
LAST_ANSWERS_S: Final = 0.5
"""Time for the last clients to read their answers when the cluster ends."""


class ControlServer:
    """`answer(ask, wait_s)` returns within about `wait_s`, and so does `audit(wait_s)`.

    `hosts`: names and addresses of HTTP's Host header beside loopback's. `stream`, `has_page`: as for Desk.
    """

    def __init__(
        self, token: str, answer: Answering, *, audit: Auditing = no_audit, hosts: Set[str] = frozenset(),
        stream: StateStream | None = None, has_page: bool = False,
    ) -> None:  # fmt: skip
        self._desk = Desk(token, answer, audit, hosts, stream=stream, has_page=has_page)
        self.unauthenticated = UnauthenticatedConnections(UNAUTHENTICATED_MAX)
        self.clients = 0
        """Connections that have shown the token."""

    async def serve(
        self, host: str = LOOPBACK, port: int = 0, *, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until cancelled; starts with its port (0: a free one). Raises PortInUse."""
        try:
            listener = socket.create_server((host, port), backlog=BACKLOG)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise PortInUse(f"port {port} for the control server is in use or not allowed: {why}") from error
        with listener:
            async with trio.open_nursery() as nursery:

                def take(sock: socket.socket, _address: str) -> None:
                    stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock))
                    nursery.start_soon(self._receive, stream)

                task_status.started(listener.getsockname()[1])
                await accept_all(listener, take, self.unauthenticated.close_oldest)

    async def quits(self) -> None:
        """Wait until no answer is pending; to be called when no further request is carried out."""
        await self._desk.quits()

    async def _receive(self, stream: trio.SocketStream) -> None:
        talk, admitted = HttpTalk(stream, self._desk), False
        try:
            async with stream:
                with self.unauthenticated.one():
                    admitted = await talk.begin()
                    # From here to the count of clients nothing is awaited.
                if not admitted:
                    return
                self.clients += 1
                try:
                    if self.clients > CLIENTS_MAX:
                        await talk.turn_away(unknown(f"{CLIENTS_MAX} clients are connected; try again", why="busy"))
                        return
                    await talk.serve()
                finally:
                    self.clients -= 1
                await talk.stream()  # its readers have a limit of their own
        except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            return  # the client's own loss
        except Exception:  # a bug of ours: it is logged, and fails this client alone
            traceback.print_exc(file=sys.stderr)
