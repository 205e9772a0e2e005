"""One end of a TCP connection: a socket, the gates of its two directions, bytes to write.

States: opening (its SYN is on the way or held), standing, closing (the machine closed it; the frames before still
leave, and its end behind them), ended. Writing is tried at once and without waiting; only bytes that the kernel does
not take go through the drain task.
"""

import contextlib
import socket
import struct
from enum import Enum
from typing import Any, Protocol

import trio

from emulator.faults.link_paths import Opening, Path
from emulator.worlds.network.spec import Address
from protocol.conversations import Conversation
from protocol.framing import ProtocolError
from protocol.machine import Loss
from protocol.messages.message_base import Message

OUTGOING_BYTES_MAX = 64 * 1024 * 1024
"""Limit per connection of bytes sent by the machine and not yet taken by the kernel.

A cut holds them, or the peer does not read. Two full frames. Beyond this the connection is dropped, with its loss as
the machine's input: a peer that far behind counts as gone.
"""
INCOMING_FRAMES_MAX = 4096
"""Limit of frames stopped by this end's gate; beyond it the socket is not read.

The sender's kernel then slows down.
"""
HELLO_BYTES_MAX = 1024
READ_BYTES = 256 * 1024
LINGER_REAL_S = 2.0


class State(Enum):
    OPENING = "opening"
    STANDING = "standing"
    CLOSING = "closing"
    ENDED = "ended"


class Marker(Enum):
    """Items besides frames that pass a gate."""

    ACCEPTED = "accepted"
    """The opener's handshake and Hello arrived."""
    CLOSE = "close"
    """We closed: our FIN."""
    LOST = "lost"
    """The peer's FIN or RST."""


class Translator(Protocol):
    """Translator for a peer with another protocol (`kafka_listener`), one request at a time."""

    def passed(self, arrived: Any, cause: str) -> None:
        """The request under way is through the gate."""

    def answered(self, answer: Message) -> bytes | None:
        """The frame that leaves; None: none does."""

    @property
    def fails_by_close(self) -> bool:
        """Whether the end of the connection is the answer."""

    def left(self) -> None:
        """The answer is through the gate."""

    def written(self) -> None:
        """The kernel has all of it, or there is none."""

    def dropped(self) -> None:
        """A rule took the request or its answer out of the stream."""

    def ended(self) -> None:
        """The connection is over."""


class Connection:
    """`name`: NODE.INCARNATION#ID of the opener, as events spell it."""

    __slots__ = (
        "back", "buffer", "can_read", "conversation", "drain_lock", "draining", "frames_in", "frames_out", "id", "loss",
        "loss_reported", "lost_reason", "name", "opened", "opening", "out", "over", "peer", "pending_bytes", "purpose",
        "service_ms", "sock", "state", "translator", "write_failed",
    )  # fmt: skip

    def __init__(self, id: int, name: str, peer: str, purpose: str, out: Path, back: Path, state: State) -> None:
        self.id = id
        self.name = name
        self.peer = peer
        self.purpose = purpose
        self.out = out
        self.back = back
        self.state = state
        self.conversation: Conversation | None = None
        """None: every message is the machine's."""
        self.translator: Translator | None = None
        """None: the peer has our protocol."""
        self.opening: Opening | None = None
        self.sock: socket.socket | None = None
        self.opened = state is State.STANDING
        """Whether the machine knows that it is established."""
        self.buffer: list[bytes] = []
        """Past the gate, not yet taken by the kernel."""
        self.pending_bytes = 0
        self.frames_in = 0
        self.frames_out = 0
        self.draining = False
        self.drain_lock: trio.Lock | None = None
        """Lock of the task that waits for the kernel; None: no task has had to."""
        self.write_failed = False
        self.lost_reason = ""
        self.loss = Loss.CLOSED
        """Set when the peer's end was noticed here; a cut may still hide it from the machine."""
        self.loss_reported = False
        self.service_ms: float | None = None
        """Time of the shell's next look at the gates."""
        self.can_read: trio.Event | None = None
        """Set when the gate's queue is short enough again."""
        self.over: trio.Event | None = None
        """Set when the socket is closed."""

    def write(self) -> bool:
        """Write as much as the kernel takes now. False: the peer is gone."""
        if self.sock is None or self.write_failed:
            self.buffer.clear()
            return not self.write_failed
        data = self.buffer[0] if len(self.buffer) == 1 else b"".join(self.buffer)
        try:
            taken = self.sock.send(data)
        except BlockingIOError:
            taken = 0
        except OSError:
            self.write_failed = True
            self.pending_bytes = 0
            self.buffer.clear()
            return False
        self.pending_bytes -= taken
        self.buffer = [data[taken:]] if taken < len(data) else []
        return True

    async def drain(self) -> bool:
        """Write the rest as the kernel takes it. False: the peer is gone."""
        if self.drain_lock is None:
            self.drain_lock = trio.Lock()
        async with self.drain_lock:
            return await self._drain()

    async def _drain(self) -> bool:
        while self.buffer and self.sock is not None and not self.write_failed:
            try:
                await trio.lowlevel.wait_writable(self.sock)
            except (OSError, trio.ClosedResourceError):
                return False
            if not self.write():
                return False
        return not self.write_failed

    def end_stream(self) -> None:
        """Send our FIN, after everything we wrote."""
        if self.sock is not None:
            with contextlib.suppress(OSError):  # the peer is gone already: nothing is left to protect
                self.sock.shutdown(socket.SHUT_WR)

    async def linger(self) -> None:
        """Wait for the peer's end of stream, for a moment.

        The reader goes on and discards: unread bytes at a close would be a reset, which may destroy what we sent.
        """
        if self.sock is None:
            return
        self.over = trio.Event()
        with trio.move_on_after(LINGER_REAL_S):
            await self.over.wait()
        self.close_socket()

    def reset_at_close(self) -> None:
        """Make the close of the socket an RST; what the kernel has not sent is discarded."""
        if self.sock is not None:
            self.buffer.clear()
            with contextlib.suppress(OSError):  # the peer is gone already
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def close_socket(self) -> None:
        if self.sock is not None:
            sock, self.sock = self.sock, None
            trio.lowlevel.notify_closing(sock)
            sock.close()
        for waited in (self.over, self.can_read):
            if waited is not None:
                waited.set()


async def receive(sock: socket.socket, size_bytes: int = READ_BYTES) -> bytes:
    """Some bytes; b"" at the end of the stream.

    Raises OSError (reset), ClosedResourceError (closed here).
    """
    while True:
        try:
            return sock.recv(size_bytes)
        except BlockingIOError:
            await trio.lowlevel.wait_readable(sock)


async def receive_next(sock: socket.socket) -> bytes:
    """As `receive`, from a peer that was served before.

    It waits first: most such peers send again after their answer. One that never stops leaves others their turn.
    """
    if sock.fileno() < 0:
        raise trio.ClosedResourceError
    await trio.lowlevel.wait_readable(sock)
    return await receive(sock)


async def receive_exactly(sock: socket.socket, size_bytes: int) -> bytes:
    """Read that many bytes. Raises ProtocolError if the stream ends before."""
    data = b""
    while len(data) < size_bytes:
        more = await receive(sock, size_bytes - len(data))
        if not more:
            raise ProtocolError(f"the stream ended after {len(data)} of {size_bytes} bytes")
        data += more
    return data


async def receive_first_payload(sock: socket.socket) -> bytes:
    """The first frame of a connection, which must be small. Raises ProtocolError, OSError."""
    size_bytes = int.from_bytes(await receive_exactly(sock, 4), "big")
    if not 0 < size_bytes <= HELLO_BYTES_MAX:
        raise ProtocolError(f"a first frame of {size_bytes} bytes; allowed are 1 to {HELLO_BYTES_MAX}")
    return await receive_exactly(sock, size_bytes)


async def connect(address: Address) -> socket.socket:
    """An established connection. Raises OSError."""
    [(*_, found), *_] = await trio.socket.getaddrinfo(*address, family=socket.AF_INET, type=socket.SOCK_STREAM)
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            sock.connect(found)
        except BlockingIOError:
            await trio.lowlevel.wait_writable(sock)
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise OSError(code, f"connect to {address.host}:{address.port}") from None
        return sock
    except BaseException:
        sock.close()
        raise
