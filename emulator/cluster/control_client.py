"""Client of the control server: one request, one answer, within its time limit."""

import socket
import time

from emulator.cluster.cluster_registry import Registration
from emulator.cluster.control_requests import WAIT_S, Answer, ControlRequest, unknown
from emulator.cluster.http.request_exchange import Exchange

MARGIN_S = 0.4
"""Time for the way there and back, beside the request's own time."""
RECEIVE_BYTES = 65_536


def ask(at: Registration, what: ControlRequest, wait_s: float = WAIT_S) -> Answer:
    """Send a request; code 3 if the cluster does not answer in time.

    Raises Refused for a request that cannot be sent, such as one that is too long.
    """
    exchange = Exchange(at.token, what, wait_s)
    if not at.port:
        return not_there_yet(at)
    deadline = time.monotonic() + wait_s + MARGIN_S
    try:
        with socket.create_connection((at.host, at.port), timeout=wait_s + MARGIN_S) as sock:
            sock.sendall(exchange.request)
            answer = None
            while answer is None:
                if (left_s := deadline - time.monotonic()) <= 0:
                    raise TimeoutError
                sock.settimeout(left_s)
                answer = exchange.add(sock.recv(RECEIVE_BYTES))
            return answer
    except TimeoutError:
        return too_late(at, wait_s)
    except OSError as error:
        return unreachable(at, error)


def not_there_yet(at: Registration) -> Answer:
    return unknown(f"cluster {at.name} is not ready: its machines are being made (process {at.pid})")


def too_late(at: Registration, wait_s: float) -> Answer:
    return unknown(f"cluster {at.name} did not answer within {wait_s + MARGIN_S:g} s (process {at.pid})")


def unreachable(at: Registration, error: Exception) -> Answer:
    return unknown(f"cluster {at.name} is unreachable (process {at.pid}): {error}")
