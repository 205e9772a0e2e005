"""Decoding of a method, a target and a body into a request. Pure.

An invalid one becomes one line with the nearest valid name.
"""

import re
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote

import msgspec

from emulator.cluster.control_requests import WAIT_S_MAX, WORDS_MAX, ControlRequest, NotThere
from emulator.cluster.http.admission import HttpRefused
from emulator.cluster.http.route import Route
from emulator.cluster.http.routes import ROUTES
from emulator.old_names import RENAMED, current
from protocol.undecodable import UNDECODABLE, why

SHOWN_CHARACTERS: Final = 100
"""Characters of an unknown path in a message."""
DESCRIBED: Final = "GET /v1/openapi.json describes all there is"
_UNKNOWN_FIELD: Final = re.compile(r"unknown field `([^`]{1,64})`")
_UNKNOWN_TAG: Final = re.compile(r"Invalid value '([^']{1,64})' - at `\$\.(\w+)`")
_Wait = Annotated[float, msgspec.Meta(ge=0.0, le=WAIT_S_MAX)]


class HttpRequest(NamedTuple):
    """A request that was read.

    `ask` None: another part than the cluster answers it. `notices`: of old names. `inputs`: from its path and query.
    """

    route: Route
    ask: ControlRequest | None
    wait_s: float
    notices: tuple[str, ...] = ()
    inputs: Any = None


def read_request(method: str, target: str, body: bytes) -> HttpRequest:
    """Read a request. Raises HttpRefused."""
    path, _, query = _without_authority(target).partition("?")
    route, named = _found(method, path)
    given = _query(query)
    wait_s = route.wait_s
    if route.waits and (texts := given.pop("wait_s", None)):
        wait_s = _converted(_once("wait_s", texts), _Wait, "wait_s")
    inputs = _inputs(route, named, given)
    body, notices = _renamed(route, body)
    decoded = _body(route, body)
    try:
        return HttpRequest(route, route.make(inputs, decoded), wait_s, notices, inputs)
    except NotThere as error:
        raise HttpRefused(404, str(error)) from error
    except ValueError as error:
        raise HttpRefused(400, why(error)) from error


def _without_authority(target: str) -> str:
    scheme, found, rest = target.partition("://")
    if not found or "/" in scheme or "?" in scheme:
        return target
    _, slash, path = rest.partition("/")
    return slash + path


def _found(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """The route, and the names in its path."""
    segments = path.split("/")
    there = [(route, named) for route in ROUTES if (named := _named(route, segments)) is not None]
    wanted = "GET" if method == "HEAD" else method
    for route, named in there:
        if route.method == wanted:
            return route, named
    if there:
        allow = ", ".join(dict.fromkeys(route.method for route, _ in there))
        raise HttpRefused(405, f"no {method[:16]} of {there[0][0].path}; there is {allow}", allow)
    raise HttpRefused(404, f"no path {path[:SHOWN_CHARACTERS]!r}; {_nearest(segments)}")


def _named(route: Route, segments: list[str]) -> dict[str, str] | None:
    """The names in the path; None: it is another path."""
    own = route.segments
    if len(own) != len(segments) or "" in segments[1:]:
        return None
    if any(mine != given for mine, given in zip(own, segments, strict=True) if not mine.startswith("{")):
        return None
    pairs = zip(own, segments, strict=True)
    return {mine[1:-1]: unquote(given, errors="replace") for mine, given in pairs if mine.startswith("{")}


def _nearest(segments: list[str]) -> str:
    """The nearest path, with the names of this one."""
    given = "/".join(segments)
    if len(given) > SHOWN_CHARACTERS:
        return DESCRIBED
    filled: dict[str, None] = {}
    for route in ROUTES:
        named = [*segments, *[""] * len(route.segments)]
        parts = [named[i] if one.startswith("{") and named[i] else one for i, one in enumerate(route.segments)]
        filled["/".join(parts)] = None
    close = get_close_matches(given, filled, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else DESCRIBED


def _query(query: str) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=2 * WORDS_MAX)
    except ValueError as error:
        raise HttpRefused(400, f"not a query: {why(error)}") from error
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        given.setdefault(name, []).append(value)
    return given


def _inputs(route: Route, named: dict[str, str], given: dict[str, list[str]]) -> Any:
    """Raises HttpRefused."""
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(route.inputs)}
    known = [*(name for name in fields if name not in named), *(["wait_s"] if route.waits else [])]
    values: dict[str, Any] = dict(named)
    for name, texts in given.items():
        if name not in known:
            close = get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}?" if close else f"there is {', '.join(known) or 'none'}"
            raise HttpRefused(400, f"no parameter {name[:SHOWN_CHARACTERS]!r}; {hint}")
        values[name] = texts if _takes_several(fields[name]) else _once(name, texts)
    try:
        return msgspec.convert(values, route.inputs, strict=False)
    except UNDECODABLE as error:
        raise HttpRefused(400, _at(why(error))) from error


def _once(name: str, texts: list[str]) -> str:
    if len(texts) > 1:
        raise HttpRefused(400, f"duplicate parameter {name!r}")
    return texts[0]


def _converted(value: str, type_: Any, name: str) -> Any:
    try:
        return msgspec.convert(value, type_, strict=False)
    except UNDECODABLE as error:
        raise HttpRefused(400, f"{name}: {why(error)}") from error


def _takes_several(type_: Any) -> bool:
    """Whether a field is a list."""
    return isinstance(msgspec.inspect.type_info(type_), msgspec.inspect.ListType)


def _renamed(route: Route, body: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The body by the names of now, and a notice of each old name."""
    if not any(f'"{one.old}"'.encode() in body for one in RENAMED if route.verb in one.of):
        return body, ()
    try:
        given = msgspec.json.decode(body, type=dict[str, Any])
    except UNDECODABLE:
        return body, ()  # its decoder reports the error
    values, notices = current("http", route.verb, given)
    return msgspec.json.encode(values), notices


def _body(route: Route, body: bytes) -> Any:
    """Raises HttpRefused."""
    if route.body is None:
        if body.strip():
            raise HttpRefused(400, f"{route.method} {route.path} takes no body")
        return None
    try:
        return _decoder(route.body).decode(body if body.strip() else b"{}")
    except UNDECODABLE as error:
        raise HttpRefused(400, _with_nearest(why(error), route.body)) from error


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)


def _with_nearest(error: str, type_: Any) -> str:
    """An unknown field, or kind of body, with the nearest valid one."""
    types = msgspec.inspect.type_info(type_)
    several = types.types if isinstance(types, msgspec.inspect.UnionType) else (types,)
    structs = [one for one in several if isinstance(one, msgspec.inspect.StructType)]
    if unknown := _UNKNOWN_FIELD.search(error):
        what, names = "field", {field.encode_name for one in structs for field in one.fields}
    elif (unknown := _UNKNOWN_TAG.search(error)) and unknown[2] in {one.tag_field for one in structs}:
        what, names = unknown[2], {str(one.tag) for one in structs}
    else:
        return _at(error)
    known = sorted(names)
    close = get_close_matches(unknown[1], known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"there is {', '.join(known) or 'none'}"
    return f"no {what} {unknown[1]!r}; {hint}"


def _at(error: str) -> str:
    """`topic: Expected ...`, as everywhere, of msgspec's `Expected ... - at `$.topic``."""
    what, found, place = error.partition(" - at `$")
    return f"{place.rstrip('`').lstrip('.')}: {what}" if found and place.rstrip("`") else what
