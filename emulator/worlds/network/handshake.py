"""Handshakes at an agent: unauthenticated connections, and waiting supervisors.

For a loop around select(2), as the agent's is. No call blocks, and no message ends anything but its own connection.
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
from emulator.worlds.network.unauthenticated_connections import HELLO_LIMIT_REAL_S
from protocol.framing import ProtocolError, decode_hello
from protocol.messages.control import Hello
from protocol.purposes import CONTROL

UNAUTHENTICATED_MAX: Final = 64
"""Limit of unauthenticated connections; beyond it the oldest is closed."""
SUPERVISORS_MAX: Final = 4
"""Limit of waiting supervisors, which have the token; beyond it the oldest is closed."""
ACCEPTED_AT_ONCE: Final = 64
LINES_MAX: Final = 100
"""Limit of lines on standard error about refused connections."""


class _Handshake:
    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self.sock = sock
        self.deadline = deadline
        self._data = bytearray()

    def read(self) -> Hello | None:
        """Read the Hello; None: it is incomplete. Raises ProtocolError, OSError.

        Takes no byte beyond the first frame.
        """
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


class Handshakes:
    """Handshakes of the listening `listener`.

    Authenticated supervisors are in `supervisors`, blocking sockets with their Hello read.
    """

    def __init__(self, listener: socket.socket, token: str) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._token = token.encode()
        self._unauthenticated: dict[socket.socket, _Handshake] = {}
        """In the order of their arrival."""
        self._paused_until = 0.0
        self._lines = 0
        self.supervisors: deque[socket.socket] = deque()

    @property
    def sockets(self) -> list[socket.socket]:
        """All sockets that a child must not keep."""
        return [self._listener, *self._unauthenticated, *self.supervisors]

    @property
    def readable_when_due(self) -> list[socket.socket]:
        """Sockets to select for reading."""
        listening = [self._listener] if time.monotonic() >= self._paused_until else []
        return [*listening, *self._unauthenticated]

    def next_due_s(self) -> float | None:
        """Seconds until `hear` has something to do without input."""
        dues = [one.deadline for one in self._unauthenticated.values()]
        if self._paused_until > time.monotonic():
            dues.append(self._paused_until)
        return max(0.0, min(dues) - time.monotonic()) if dues else None

    def hear(self, readable: Iterable[socket.socket]) -> None:
        """Read from readable connections, close overdue ones, and accept new ones."""
        ready = set(readable)
        for handshake in list(self._unauthenticated.values()):
            if handshake.sock in ready:
                self._hear(handshake)
            elif time.monotonic() >= handshake.deadline:
                self._let_go(handshake, "no Hello in time")
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
            if len(self._unauthenticated) >= UNAUTHENTICATED_MAX:
                self._make_room()
            sock.setblocking(False)
            handshake = self._unauthenticated[sock] = _Handshake(sock, time.monotonic() + HELLO_LIMIT_REAL_S)
            self._hear(handshake)

    def _hear(self, handshake: _Handshake) -> None:
        try:
            hello = handshake.read()
        except (ProtocolError, OSError) as error:
            self._let_go(handshake, str(error))
            return
        if hello is None:
            return
        if hello.purpose != CONTROL or not hmac.compare_digest(hello.token.encode(), self._token):
            self._let_go(handshake, "refused: not this run's token")
            return
        del self._unauthenticated[handshake.sock]
        self.supervisors.append(handshake.sock)
        if len(self.supervisors) > SUPERVISORS_MAX:
            self.supervisors.popleft().close()

    def _make_room(self) -> None:
        if self._unauthenticated:
            self._let_go(next(iter(self._unauthenticated.values())), "no Hello yet when others needed the room")

    def _let_go(self, handshake: _Handshake, reason: str) -> None:
        del self._unauthenticated[handshake.sock]
        handshake.sock.close()
        self._lines += 1
        if self._lines <= LINES_MAX:
            with contextlib.suppress(OSError):  # standard error has no reader: no reason to end
                print(f"agent: {reason}", file=sys.stderr, flush=True)
