"""Connections without a token, many and silent.

Another connection has the token and has to be served.
"""

import errno
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import trio

from protocol.framing import FrameDecoder, decode, encode
from protocol.messages.control import Hello
from protocol.messages.message_base import Message
from tests.patience import PATIENCE_S

PROMPT_S = 3.0
"""Time limit for serving a new connection on a busy machine.

The kernel's accept queue alone may cost one retried SYN.
"""


@contextmanager
def silent(address: tuple[str, int], count: int, first_bytes: bytes = b"") -> Iterator[list[socket.socket]]:
    """`count` connections that say `first_bytes` and nothing more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, count + 512)), hard))
    try:
        with ExitStack() as held:
            there: list[socket.socket] = []
            for _ in range(count):
                sock = held.enter_context(socket.socket())
                sock.setblocking(False)
                code = sock.connect_ex(address)
                assert code in (0, errno.EINPROGRESS), errno.errorcode[code]
                there.append(sock)
                if first_bytes and code == 0:
                    sock.send(first_bytes)
            yield there
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def exchange(
    address: tuple[str, int], hello: Hello, message: Message, limit_s: float = PATIENCE_S
) -> tuple[Message, float]:
    """The answer over a new connection, and after how many seconds. Raises OSError."""
    began = time.monotonic()
    with socket.create_connection(address, timeout=limit_s) as sock:
        sock.sendall(encode(hello) + encode(message))
        decoder = FrameDecoder()
        while True:
            data = sock.recv(65536)
            if not data:
                raise ConnectionError("closed without an answer")
            for payload in decoder.feed(data):
                return decode(payload).message, time.monotonic() - began


async def until_closed(sockets: list[socket.socket]) -> None:
    """Until the other side has closed all of them."""
    with trio.fail_after(PATIENCE_S):
        for sock in sockets:
            await trio.lowlevel.wait_readable(sock)
    assert closed(sockets) == len(sockets)


def closed(sockets: list[socket.socket]) -> int:
    """The number of these connections that the other side has closed by now."""
    count = 0
    for sock in sockets:
        try:
            count += sock.recv(1) == b""
        except BlockingIOError:
            continue
        except OSError:
            count += 1
    return count
