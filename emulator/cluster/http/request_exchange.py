"""One request of a client and its answer, as bytes of HTTP/1. Pure.

The route of a request is the one whose path names most of its fields: a topic's own, rather than that of all topics.
"""

from typing import Any, Final
from urllib.parse import quote, urlencode

import h11
import msgspec

from emulator.cluster.control_requests import (
    ANSWER_BYTES_MAX,
    BODY_BYTES_MAX,
    HEAD_BYTES_MAX,
    Answer,
    ControlRequest,
    Refused,
)
from emulator.cluster.http.replying import answer_in
from emulator.cluster.http.route import Route
from emulator.cluster.http.routes import ROUTES

HOST: Final = "localhost"
"""Admitted by every control server, at whatever address it was reached."""
_encode = msgspec.json.Encoder().encode


class Exchange:
    """`request`: the bytes to send. Then `add` takes what arrives, until it returns the answer."""

    def __init__(self, token: str, ask: ControlRequest, wait_s: float) -> None:
        """Raises Refused for a request that cannot be sent."""
        method, target, body = encoded(ask, wait_s)
        self._peer = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES_MAX)
        headers = {
            "host": HOST, "authorization": f"Bearer {quote(token)}", "content-length": str(len(body)),
            "connection": "close",
        }  # fmt: skip
        events = (h11.Request(method=method, target=target, headers=list(headers.items())), h11.Data(data=body))
        self.request = b"".join(self._peer.send(event) or b"" for event in (*events, h11.EndOfMessage()))
        self._status = 0
        self._body = bytearray()

    def add(self, data: bytes) -> Answer | None:
        """The answer once it is complete; `data` empty: the end. Raises ConnectionError."""
        try:
            self._peer.receive_data(data)
            for event in iter(self._peer.next_event, h11.NEED_DATA):
                if isinstance(event, h11.Response):
                    self._status = event.status_code
                elif isinstance(event, h11.Data):
                    self._body += event.data
                    if len(self._body) > ANSWER_BYTES_MAX:
                        raise ConnectionError(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
                elif isinstance(event, h11.EndOfMessage):
                    return answer_in(self._status, bytes(self._body))
        except h11.RemoteProtocolError as error:
            why = f"not an answer: {error}" if data else "it closed the connection without an answer"
            raise ConnectionError(why) from error
        return None


def encoded(ask: ControlRequest, wait_s: float) -> tuple[str, str, bytes]:
    """Method, target and body of a request: the reverse of `read_request`. Raises Refused."""
    route, fields = _routed(ask)
    named = {name: quote(str(fields.pop(name)), safe="") for name in route.in_path}
    path = route.path.format_map(named)
    if route.body is None:
        query = {"wait_s": wait_s, **{name: value for name, value in fields.items() if value is not None}}
        return route.method, f"{path}?{urlencode(query, doseq=True)}", b""
    body = _encode(fields)
    if len(body) > BODY_BYTES_MAX:
        raise Refused(f"a request of {len(body)} bytes; the cluster takes {BODY_BYTES_MAX}")
    return route.method, f"{path}?wait_s={wait_s}", body


def _routed(ask: ControlRequest) -> tuple[Route, dict[str, Any]]:
    """The route of a request, and the request's fields. Raises Refused."""
    there = [(route, fields) for route in ROUTES if (fields := route.fields(ask)) is not None]
    usable = [(route, fields) for route, fields in there if not _unnamed(route, fields)]
    if not usable:
        raise Refused(f"{_unnamed(*there[0])} '': it is empty")
    return max(usable, key=lambda one: len(one[0].in_path))


def _unnamed(route: Route, fields: dict[str, Any]) -> str:
    """The first name in the path that the request lacks; "": none."""
    return next((name for name in route.in_path if fields[name] in ("", None)), "")
