"""One operation over HTTP, derived from its typed request. Pure.

A request's fields come from the path, or from the query of a GET and DELETE, or from the JSON body of a POST and PATCH.
So reading, refusing and describing agree.
"""

import re
from collections.abc import Callable, Collection, Iterable
from types import NoneType
from typing import Any, Final, Literal, Union, get_args

import msgspec
from msgspec.structs import FieldInfo

from emulator.cluster.control_requests import ControlRequest

Method = Literal["GET", "POST", "PATCH", "DELETE"]
WAIT_S: Final = 10.0
"""Default limit of a request, in seconds: longer than a command's."""
DESCRIPTION: Final = "/v1/openapi.json"
AUDIT: Final = "/v1/audit"
STREAM: Final = "/v1/stream"
EVENT_STREAM: Final = "text/event-stream"
JSON: Final = "application/json"
MACHINES: Final = "/v1/nodes/"
"""Paths without a request to the cluster."""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No body, or an empty object."""


class Route(msgspec.Struct, frozen=True):
    """One operation. `path` has names in braces. `name`: unique.

    - `inputs`: fields from the path and the query, by their names; `body`: None takes none.
    - `make(inputs, body)`: the request, None if it is not the cluster's (DESCRIPTION, AUDIT); raises NotThere.
    - `fields(ask)`: the reverse, by the names of path, query and body; None: the request is another route's.
    - `shape`: the part of its result that is sent. `status`: when it is done. `wait_s`: default of the query.
    - `text(result, accept)`: content type and text of a result that is not sent as JSON; `media_type`: the usual one.
    """

    method: Method
    path: str
    name: str
    does: str
    inputs: type[msgspec.Struct] = Nothing
    body: Any = None
    make: Callable[[Any, Any], ControlRequest | None] = lambda _inputs, _body: None
    fields: Callable[[Any], dict[str, Any] | None] = lambda _ask: None
    shape: Callable[[dict[str, Any]], dict[str, Any]] = lambda result: result
    status: int = 200
    wait_s: float = WAIT_S
    text: Callable[[dict[str, Any], str], tuple[str, str]] | None = None
    media_type: str = JSON

    @property
    def verb(self) -> str:
        """Its verb: the last word of a machine's path, else its name, as `start-workload`."""
        if self.path.startswith(MACHINES):
            return self.segments[-1]
        return re.sub(r"(?<!^)(?=[A-Z])", "-", self.name).lower()

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.split("/"))

    @property
    def waits(self) -> bool:
        """Whether it may take its time."""
        return self.path not in (DESCRIPTION, STREAM)

    @property
    def in_path(self) -> tuple[str, ...]:
        return tuple(part[1:-1] for part in self.segments if part.startswith("{"))


def route_of(
    ask: type[ControlRequest],
    method: Method,
    path: str,
    does: str,
    *,
    name: str = "",
    without: Collection[str] = (),
    shape: Callable[[dict[str, Any]], dict[str, Any]] = lambda result: result,
    status: int = 200,
    wait_s: float = WAIT_S,
) -> Route:
    """The route of a request with the request's own field names.

    `without`: fields left at their defaults. `name`: by default the request's.
    """
    name = name or ask.__name__
    in_path = {part[1:-1] for part in path.split("/") if part.startswith("{")}
    fields = [field for field in msgspec.structs.fields(ask) if field.name not in without]
    names = {field.encode_name: field.name for field in fields}
    by_body = method in ("POST", "PATCH")
    inputs = [field for field in fields if field.name in in_path or not by_body]
    rest = [field for field in fields if field not in inputs]

    def make(given: msgspec.Struct, body: msgspec.Struct | None) -> ControlRequest:
        values = _values(given) | (_values(body) if body is not None else {})
        return ask(**{names[key]: value for key, value in values.items()})

    defaults = {field.name: field.default for field in msgspec.structs.fields(ask) if field.name in without}

    def given_in(one: ControlRequest) -> dict[str, Any] | None:
        if type(one) is not ask or any(getattr(one, left) != default for left, default in defaults.items()):
            return None
        return {field.encode_name: getattr(one, field.name) for field in fields}

    body = struct_of(name, rest, ask.__doc__) if rest else Nothing
    return Route(
        method, path, name, does, struct_of(f"{name}Inputs", inputs, required=in_path), body if by_body else None, make,
        given_in, shape, status, wait_s,
    )  # fmt: skip


def struct_of(
    name: str, fields: Iterable[FieldInfo], says: str | None = None, required: Collection[str] = ()
) -> type[msgspec.Struct]:
    """A type with these fields, by the names that they are encoded with."""
    own: list[Any] = []
    for field in fields:
        type_ = field.type
        if field.encode_name in required:
            own.append((field.encode_name, _given(type_)))
        elif field.required:
            own.append((field.encode_name, type_))
        elif field.default_factory is not msgspec.NODEFAULT:
            own.append((field.encode_name, type_, msgspec.field(default_factory=field.default_factory)))
        else:
            own.append((field.encode_name, type_, field.default))
    namespace = {"__doc__": says} if says else {}
    return msgspec.defstruct(
        name, own, frozen=True, forbid_unknown_fields=True, kw_only=True, namespace=namespace, module=__name__
    )


def _given(type_: Any) -> Any:
    """The type without None: a name in a path is never `null`."""
    kept = tuple(one for one in get_args(type_) if one is not NoneType)
    return Union[kept] if NoneType in get_args(type_) else type_  # noqa: UP007


def _values(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}
