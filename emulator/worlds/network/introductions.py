"""Who knocks at an agent: connections that have not shown the token yet, and supervisors that wait for their turn.

For a loop around select(2), as the agent's is. Nothing waits here, and nothing that is said here ends anything but the
connection it is said on.
"""

import contextlib
import hmac
import socket
import sys
import time
from collections import deque
from collections.abc import Iterable
from typing import Final

from emulator.worlds.network.accepting import EXHAUSTED, PAUSE_S, PEERS_OWN
from emulator.worlds.network.connection import HELLO_BYTES_MAX
from emulator.worlds.network.strangers import HELLO_LIMIT_REAL_S
from protocol.framing import ProtocolError, decode_hello
from protocol.messages.control import Hello
from protocol.purposes import CONTROL

STRANGERS_MAX: Final = 64
"""The oldest makes room."""
SUPERVISORS_MAX: Final = 4
"""With the token, waiting; the oldest makes room."""
ACCEPTED_AT_ONCE: Final = 64
LINES_MAX: Final = 100
"""On standard error, about strangers."""


class _Stranger:
    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self.sock = sock
        self.deadline = deadline
        self._data = bytearray()

    def hear(self) -> Hello | None:
        """None: not all of it is here. Takes no byte beyond the first frame. Raises ProtocolError, OSError."""
        while True:
            size = int.from_bytes(self._data[:4], "big") if len(self._data) >= 4 else 0
            if len(self._data) >= 4 and not 0 < size <= HELLO_BYTES_MAX:
                raise ProtocolError(f"a first frame of {size} bytes; allowed are 1 to {HELLO_BYTES_MAX}")
            lacking = 4 + size - len(self._data)
            if not lacking:
                return decode_hello(bytes(self._data[4:]))
            try:
                more = self.sock.recv(lacking)
            except BlockingIOError:
                return None
            if not more:
                raise ProtocolError("the stream ended before the Hello")
            self._data += more


class Introductions:
    """`listener` listens. Supervisors are taken from `supervisors`, blocking sockets with their Hello read."""

    def __init__(self, listener: socket.socket, token: str) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._token = token.encode()
        self._strangers: dict[socket.socket, _Stranger] = {}
        """In the order of their coming."""
        self._paused_until = 0.0
        self._lines = 0
        self.supervisors: deque[socket.socket] = deque()

    @property
    def sockets(self) -> list[socket.socket]:
        """All that a child must not keep."""
        return [self._listener, *self._strangers, *self.supervisors]

    @property
    def readable_when_due(self) -> list[socket.socket]:
        """To select for reading."""
        listening = [self._listener] if time.monotonic() >= self._paused_until else []
        return [*listening, *self._strangers]

    def next_due_s(self) -> float | None:
        """In how many seconds `hear` has something to do, whatever can be read."""
        dues = [one.deadline for one in self._strangers.values()]
        if self._paused_until > time.monotonic():
            dues.append(self._paused_until)
        return max(0.0, min(dues) - time.monotonic()) if dues else None

    def hear(self, readable: Iterable[socket.socket]) -> None:
        """Listens to those who said something, lets go who had time enough, and takes who is new."""
        ready = set(readable)
        for stranger in list(self._strangers.values()):
            if stranger.sock in ready:
                self._hear(stranger)
            elif time.monotonic() >= stranger.deadline:
                self._let_go(stranger, "no Hello in time")
        if self._listener in ready:
            self._accept()

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, _address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in EXHAUSTED:
                    self._make_room()
                    self._paused_until = time.monotonic() + PAUSE_S
                    return
                if error.errno not in PEERS_OWN:
                    raise
                continue
            if len(self._strangers) >= STRANGERS_MAX:
                self._make_room()
            sock.setblocking(False)
            stranger = self._strangers[sock] = _Stranger(sock, time.monotonic() + HELLO_LIMIT_REAL_S)
            self._hear(stranger)

    def _hear(self, stranger: _Stranger) -> None:
        try:
            hello = stranger.hear()
        except (ProtocolError, OSError) as error:
            self._let_go(stranger, str(error))
            return
        if hello is None:
            return
        if hello.purpose != CONTROL or not hmac.compare_digest(hello.token.encode(), self._token):
            self._let_go(stranger, "refused somebody without this run's token")
            return
        del self._strangers[stranger.sock]
        self.supervisors.append(stranger.sock)
        if len(self.supervisors) > SUPERVISORS_MAX:
            self.supervisors.popleft().close()

    def _make_room(self) -> None:
        if self._strangers:
            self._let_go(next(iter(self._strangers.values())), "no Hello yet when others needed the room")

    def _let_go(self, stranger: _Stranger, reason: str) -> None:
        del self._strangers[stranger.sock]
        stranger.sock.close()
        self._lines += 1
        if self._lines <= LINES_MAX:
            with contextlib.suppress(OSError):  # nobody reads us: no reason to end
                print(f"agent: {reason}", file=sys.stderr, flush=True)
