"""HTTP responses: status and JSON of each answer. Pure.

    200, 201        done: the command's output with `--json`
    400             invalid request: a body, a parameter
    401, 403        wrong token; Host not allowed, or the request comes from a page in a browser
    404             no such path; no node, topic, fault or AZ of that name
    405             no such method of that path
    408, 413, 431   too slow or too long: a body, a head
    409             the cluster's state does not allow it
    500             a bug of faultline
    503             not ready, too many requests, or the cluster ends: retry
    504             not finished in time: the request continues

An error is `{"error": "one line", "code": 2}`, with the results so far beside it. `code`: the command's exit code.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final, Literal, NamedTuple

import msgspec

from emulator.cluster.control_requests import ANSWER_BYTES_MAX, Answer, Ready
from emulator.cluster.http.admission import CHALLENGE, HttpRefused
from emulator.cluster.http.route import JSON, Route
from emulator.exit_codes import HELD, UNKNOWN, UNUSABLE
from protocol.undecodable import UNDECODABLE, why

Headers = Sequence[tuple[str, str]]
TRY_AGAIN_S: Final = 1
_encode = msgspec.json.Encoder().encode


class Reply(NamedTuple):
    """`headers`: besides those of every reply."""

    status: int
    body: bytes
    headers: Headers = ()
    content_type: str = JSON

    @property
    def reason(self) -> str:
        return HTTPStatus(self.status).phrase


def reply_to(route: Route, answer: Answer, notices: Sequence[str] = (), accept: str = "") -> Reply:
    """The cluster's answer. `notices`: a `warning` header each. `accept`: the Accept header."""
    warned = [("warning", f'299 faultline "{line}"') for line in notices]
    if answer.code == HELD and route.text is not None:
        content_type, text = route.text(answer.result, accept)
        return _bounded(Reply(route.status, text.encode(), warned, content_type))
    if answer.code == HELD:
        result = route.shape(answer.result)
        applied: list[dict[str, Any]] = result.get("applied", [])
        where = [("location", f"/v1/faults/{applied[0]['id']}")] if applied and route.status == 201 else []
        return _reply(route.status, result, [*where, *warned])
    status = _status(route, answer)
    again = [("retry-after", str(TRY_AGAIN_S))] if status == 503 else []
    return _reply(status, {"error": answer.error, "code": answer.code, **answer.result}, [*again, *warned])


def _status(route: Route, answer: Answer) -> int:
    if answer.why == "bug":
        return 500
    if answer.code == UNUSABLE:
        return 404 if answer.why == "absent" else 409
    if answer.why == "ended":
        return 409
    return 503 if answer.why == "busy" or route.name == Ready.__name__ else 504


class _Error(msgspec.Struct, frozen=True):
    """Fields of an error's body that a client needs."""

    error: str
    code: Literal[2, 3] | None = None


def answer_in(status: int, body: bytes) -> Answer:
    """The answer in a reply: the reverse of `reply_to`. Raises ConnectionError."""
    try:
        result = msgspec.json.decode(body, type=dict[str, Any])
        if status < HTTPStatus.BAD_REQUEST:
            return Answer(result=result)
        refused = msgspec.convert(result, _Error)
    except UNDECODABLE as error:
        raise ConnectionError(f"not an answer: {why(error)}") from error
    for name in _Error.__struct_fields__:
        result.pop(name, None)
    code = refused.code or (UNUSABLE if status < HTTPStatus.INTERNAL_SERVER_ERROR else UNKNOWN)
    return Answer(code, refused.error, result)


def refusal(refused: HttpRefused) -> Reply:
    """The refusal of an invalid request."""
    headers = [("allow", refused.allow)] if refused.allow else []
    headers += [("www-authenticate", CHALLENGE)] if refused.status == 401 else []
    return _reply(refused.status, {"error": str(refused)}, headers)


def turned_away(answer: Answer) -> Reply:
    """The refusal of a request when the server is full or ends."""
    return _reply(503, {"error": answer.error}, [("retry-after", str(TRY_AGAIN_S))])


def document(value: Any) -> Reply:
    """A document of the server itself, such as its OpenAPI description."""
    return _reply(200, value)


def headers_of(reply: Reply, date: str, *, close: bool) -> list[tuple[str, str]]:
    """All headers; they forbid caching, and guesses of another content type."""
    return [
        ("date", date),
        ("content-type", reply.content_type),
        ("content-length", str(len(reply.body))),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        *reply.headers,
        *([("connection", "close")] if close else []),
    ]


def _reply(status: int, value: Any, headers: Headers = ()) -> Reply:
    return _bounded(Reply(status, _encode(value) + b"\n", headers))


def _bounded(reply: Reply) -> Reply:
    """The reply, or the report that it is too long."""
    if len(reply.body) <= ANSWER_BYTES_MAX:
        return reply
    problem = {"error": f"an answer of {len(reply.body)} bytes; at most {ANSWER_BYTES_MAX}", "code": UNUSABLE}
    return Reply(500, _encode(problem) + b"\n")
