"""Ports that stay a node's own while it is dead: what is bound but does not listen refuses connections."""

import socket
from typing import Final

from emulator.worlds.network.spec import LOOPBACK

BACKLOG: Final = 1024
"""Connections that the kernel keeps in line while we are busy; those beyond it try again after a second."""


class PortInUse(Exception):
    """Someone else listens where a node should."""


def bound(host: str, port: int) -> socket.socket:
    """Where others of ours may be bound, too. Raises OSError."""
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
    """By default on loopback, "": at any address; 0: a free one. Raises PortInUse."""
    try:
        return bound(host, port)
    except OSError as error:
        raise PortInUse(f"port {port} for {node} is in use or not allowed: {error.strerror}") from error


def listen_on(port: int, node: str, host: str = LOOPBACK) -> socket.socket:
    """A listening socket beside the reservation. Raises PortInUse."""
    listener = reserve_port(node, port, host)
    listener.listen(BACKLOG)
    return listener
