"""The asker's side of the control server: one request, one answer, and never longer than it said it would wait."""

import socket
import time

from emulator.cluster.registry import Registration
from emulator.cluster.requests import (
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
"""For the way there and back, beside what the request itself may take."""


def ask(at: Registration, what: Ask, wait_s: float = WAIT_S) -> Answer:
    """Code 3 when the cluster does not answer in time. Raises Refused for a request that is too long."""
    line = encode_request(at.token, what, wait_s)
    if not at.port:
        return unknown(f"cluster {at.name} is not there yet: its machines are made (process {at.pid})")
    deadline = time.monotonic() + wait_s + MARGIN_S
    try:
        with socket.create_connection((at.host, at.port), timeout=wait_s + MARGIN_S) as sock:
            sock.sendall(line)
            return decode_answer(_line(sock, deadline))
    except TimeoutError:
        return unknown(f"cluster {at.name} did not answer within {wait_s + MARGIN_S:g} s (process {at.pid})")
    except (OSError, Malformed) as error:
        return unknown(f"cluster {at.name} cannot be asked (process {at.pid}): {error}")


def _line(sock: socket.socket, deadline: float) -> bytes:
    parts: list[bytes] = []
    size_bytes = 0
    while True:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        sock.settimeout(left_s)
        data = sock.recv(65536)
        if not data:
            raise ConnectionError("it closed the connection without an answer")
        parts.append(data)
        size_bytes += len(data)
        if data.endswith(b"\n"):
            return b"".join(parts)
        if size_bytes > ANSWER_BYTES_MAX:
            raise ConnectionError(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
