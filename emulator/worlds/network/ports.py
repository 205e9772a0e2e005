"""Ports that stay reserved for a dead node.

A bound socket that does not listen refuses connections.
"""

import socket
from typing import Final

from emulator.worlds.network.spec import LOOPBACK

BACKLOG: Final = 1024
"""Limit of connections in the kernel's queue; those beyond it try again after a second."""


class PortInUse(Exception):
    """Another process listens on a node's port."""


def bound(host: str, port: int) -> socket.socket:
    """A bound socket whose port our other sockets may share. Raises OSError."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def reserve_port(node: str, port: int = 0, host: str = LOOPBACK) -> socket.socket:
    """A reserved port, by default on loopback; host "": any address; port 0: a free one.

    Raises PortInUse.
    """
    try:
        return bound(host, port)
    except OSError as error:
        raise PortInUse(f"port {port} for {node} is in use or not allowed: {error.strerror}") from error


def listen_on(port: int, node: str, host: str = LOOPBACK) -> socket.socket:
    """A listening socket beside the reservation. Raises PortInUse."""
    listener = reserve_port(node, port, host)
    listener.listen(BACKLOG)
    return listener
