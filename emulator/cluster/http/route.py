"""One operation over HTTP, derived from the typed request that it stands for. Pure.

A request's fields are taken from the path, or from the query of a GET and DELETE, or from the JSON body of a POST and
PATCH. So what is read, what is refused and what the description says are one thing.
"""

from collections.abc import Callable, Collection, Iterable
from types import NoneType
from typing import Any, Final, Literal, Union, get_args

import msgspec
from msgspec.structs import FieldInfo

from emulator.cluster.requests import Ask

Method = Literal["GET", "POST", "PATCH", "DELETE"]
WAIT_S: Final = 10.0
"""How long a request waits for its end unless it says otherwise: longer than a person at a command does."""
DESCRIPTION: Final = "/v1/openapi.json"
AUDIT: Final = "/v1/audit"
"""What no request to the cluster stands for."""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No body, or an empty object."""


class Route(msgspec.Struct, frozen=True):
    """`path` has names in braces. `name`: unique. `inputs`: what comes from the path and the query, by its names;
    `body`: None takes none. `make(inputs, body)`: the request, None where it is not the cluster's (DESCRIPTION, AUDIT);
    raises NotThere. `shape`: of its result, what is told. `status`: when it has been done. `wait_s`: unless the query
    says otherwise."""

    method: Method
    path: str
    name: str
    does: str
    inputs: type[msgspec.Struct] = Nothing
    body: Any = None
    make: Callable[[Any, Any], Ask | None] = lambda _inputs, _body: None
    shape: Callable[[dict[str, Any]], dict[str, Any]] = lambda result: result
    status: int = 200
    wait_s: float = WAIT_S

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.split("/"))

    @property
    def waits(self) -> bool:
        """Whether it has an end that may take its time."""
        return self.path != DESCRIPTION

    @property
    def in_path(self) -> tuple[str, ...]:
        return tuple(part[1:-1] for part in self.segments if part.startswith("{"))


def route_of(
    ask: type[Ask],
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
    """The route of a request whose fields have the names that they have there. `without`: fields that are left at their
    defaults. `name`: by default the request's."""
    name = name or ask.__name__
    in_path = {part[1:-1] for part in path.split("/") if part.startswith("{")}
    fields = [field for field in msgspec.structs.fields(ask) if field.name not in without]
    by_body = method in ("POST", "PATCH")
    inputs = [field for field in fields if field.name in in_path or not by_body]
    rest = [field for field in fields if field not in inputs]

    def make(given: msgspec.Struct, body: msgspec.Struct | None) -> Ask:
        return ask(**_values(given), **(_values(body) if body is not None else {}))

    body = struct_of(name, rest, ask.__doc__) if rest else Nothing
    return Route(
        method, path, name, does, struct_of(f"{name}Inputs", inputs, required=in_path), body if by_body else None, make,
        shape, status, wait_s,
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
    """What is named is something: `null` is no broker."""
    kept = tuple(one for one in get_args(type_) if one is not NoneType)
    return Union[kept] if NoneType in get_args(type_) else type_  # noqa: UP007


def _values(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}
