"""Client of the control server: one request, one answer, within its time limit."""

import socket
import time

from emulator.cluster.cluster_registry import Registration
from emulator.cluster.control_requests import (
    ANSWER_BYTES_MAX,
    WAIT_S,
    Answer,
    Ask,
    Malformed,
    decode_answer,
    encode_request,
    unknown,
)

MARGIN_S = 0.4
"""Time for the way there and back, beside the request's own time."""
RECEIVE_BYTES = 65_536


def ask(at: Registration, what: Ask, wait_s: float = WAIT_S) -> Answer:
    """Send a request; code 3 if the cluster does not answer in time.

    Raises Refused for a request that is too long.
    """
    line = encode_request(at.token, what, wait_s)
    if not at.port:
        return not_there_yet(at)
    deadline = time.monotonic() + wait_s + MARGIN_S
    try:
        with socket.create_connection((at.host, at.port), timeout=wait_s + MARGIN_S) as sock:
            sock.sendall(line)
            return decode_answer(_line(sock, deadline))
    except TimeoutError:
        return too_late(at, wait_s)
    except (OSError, Malformed) as error:
        return unreachable(at, error)


class Received:
    """Collects the line of an answer."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size_bytes = 0

    def add(self, data: bytes) -> bytes | None:
        """The whole line once it is complete; `data` empty: the end. Raises ConnectionError."""
        if not data:
            raise ConnectionError("it closed the connection without an answer")
        self._parts.append(data)
        self._size_bytes += len(data)
        if data.endswith(b"\n"):
            return b"".join(self._parts)
        if self._size_bytes > ANSWER_BYTES_MAX:
            raise ConnectionError(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
        return None


def not_there_yet(at: Registration) -> Answer:
    return unknown(f"cluster {at.name} is not ready: its machines are being made (process {at.pid})")


def too_late(at: Registration, wait_s: float) -> Answer:
    return unknown(f"cluster {at.name} did not answer within {wait_s + MARGIN_S:g} s (process {at.pid})")


def unreachable(at: Registration, error: Exception) -> Answer:
    return unknown(f"cluster {at.name} is unreachable (process {at.pid}): {error}")


def _line(sock: socket.socket, deadline: float) -> bytes:
    received = Received()
    while True:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        sock.settimeout(left_s)
        line = received.add(sock.recv(RECEIVE_BYTES))
        if line is not None:
            return line
