"""Connections without a token, many and silent.

Another connection has the token and has to be served.
"""

import socket
import time

import trio

from protocol.framing import FrameDecoder, decode, encode
from protocol.messages.control import Hello
from protocol.messages.message_base import Message
from tests.patience import PATIENCE_S
from verification.attack.silent_sockets import closed

PROMPT_S = 9.0
"""Time limit for serving a new connection, also on a slow machine.

Strangers that are silent for 10 s make room by themselves, so a longer wait would prove nothing.
"""


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
