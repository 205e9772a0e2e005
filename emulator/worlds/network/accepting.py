"""Accepts connections of a listening socket, even if the machine lacks resources."""

import errno
import socket
from collections.abc import Callable
from typing import Final

import trio

EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""No descriptor or no memory for one more connection.

It waits in the kernel's queue, and is accepted later.
"""
PEERS_OWN: Final = frozenset(
    {
        errno.ECONNABORTED, errno.EPERM, errno.EPROTO, errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.ETIMEDOUT,
        errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENONET,
    }
)  # fmt: skip
"""The first connection in the queue has failed; the next one may be good (accept(2))."""
PAUSE_S: Final = 0.1
BATCH: Final = 64
"""Limit of connections in one go; then other tasks get their turn."""


async def accept_all(
    listener: socket.socket,
    take: Callable[[socket.socket, str], object],
    exhausted: Callable[[], object] = lambda: None,
) -> None:
    """Accept until cancelled, or until the listener's owner closes it (and notifies trio).

    `take(sock, address)` gets each connection, must not block, and owns it. `exhausted` is called when resources for
    one are missing: it should close other connections.
    """
    listener.setblocking(False)
    while listener.fileno() >= 0:
        try:
            await trio.lowlevel.wait_readable(listener)
        except trio.ClosedResourceError:
            return
        for _ in range(BATCH):
            try:
                sock, address = listener.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno in EXHAUSTED:
                    exhausted()
                    await trio.sleep(PAUSE_S)
                    break
                if error.errno not in PEERS_OWN:
                    raise
                continue
            sock.setblocking(False)
            take(sock, f"{address[0]}:{address[1]}")
