"""The OpenAPI 3.1 description of the routes, with the requests' types and bounds. Pure."""

from functools import cache
from typing import Any, Final

import msgspec

from emulator.cluster.control_requests import WAIT_S_MAX
from emulator.cluster.http.route import AUDIT, JSON, Route
from emulator.cluster.http.routes import ROUTES
from emulator.packaged import installed_version

OPENAPI: Final = "3.1.0"
REF: Final = "#/components/schemas/{name}"
REFUSALS: Final = {
    "400": "Invalid request: a body, a parameter.",
    "401": "Not this run's token.",
    "403": "Host not allowed, or a page in a browser sent it.",
    "404": "Nothing of that name.",
    "409": "The cluster's state does not allow it.",
    "413": "The body is too long.",
    "500": "A bug of faultline's.",
    "503": "Not ready, too many requests, or the cluster ends; try again.",
    "504": "Not finished in time; it goes on.",
}
_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {"type": "string", "description": "One line with the nearest valid name."},
        "code": {"enum": [2, 3], "description": "2: it cannot be done; 3: the outcome is unknown."},
    },
    "additionalProperties": True,
}


@cache
def description() -> dict[str, Any]:
    """The description, ready to be encoded as JSON."""
    bodies = list(dict.fromkeys(route.body for route in ROUTES if route.body is not None))
    schemas, components = msgspec.json.schema_components(bodies, ref_template=REF)
    by_body = dict(zip(bodies, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_body)
    refused = {
        f"refused-{status}": {
            "description": says,
            "content": {"application/json": {"schema": {"$ref": REF.format(name="Error")}}},
        }
        for status, says in REFUSALS.items()
    }
    described = {
        "openapi": OPENAPI,
        "info": {
            "title": "faultline",
            "version": installed_version(),
            "description": "A live cluster: watch, use and break it. Names of nodes may be those of an AZ "
            "(az-0) or patterns (broker-*). Results are what the commands print with --json.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**dict(sorted(components.items())), "Error": _ERROR},
            "responses": refused,
        },
    }
    return _in_one_line(described)


def _in_one_line(value: dict[str, Any]) -> dict[str, Any]:
    """Join the lines of docstrings."""
    return {key: _each_in_one_line(key, one) for key, one in value.items()}


def _each_in_one_line(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return _in_one_line(value)
    if isinstance(value, list | tuple):
        return [_each_in_one_line(key, one) for one in value]
    return " ".join(value.split()) if key == "description" and isinstance(value, str) else value


def _operation(route: Route, bodies: dict[Any, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": route.name[0].lower() + route.name[1:],
        "summary": route.does,
        "parameters": _parameters(route),
        "responses": {
            str(route.status): {
                "description": "Done.",
                "content": {route.media_type: {"schema": _result_schema(route)}},
            },
            **{status: {"$ref": f"#/components/responses/refused-{status}"} for status in REFUSALS},
        },
    }
    if route.body is not None:
        content = {"application/json": {"schema": bodies[route.body]}}
        described["requestBody"] = {"required": _is_required(route.body), "content": content}
    return described


def _result_schema(route: Route) -> dict[str, Any]:
    return {"type": "string"} if route.media_type != JSON else {"type": "object", "additionalProperties": True}


def _parameters(route: Route) -> list[dict[str, Any]]:
    fields = msgspec.structs.fields(route.inputs)
    types = [field.type for field in fields]
    schemas, _ = msgspec.json.schema_components(types, ref_template=REF)
    described: list[dict[str, Any]] = []
    for field, schema in zip(fields, schemas, strict=True):
        in_path = field.encode_name in route.in_path
        one = {"name": field.encode_name, "in": "path" if in_path else "query", "schema": schema}
        described.append(one | ({"required": True} if in_path or field.required else {}))
    if route.waits:
        waits = {"type": "number", "minimum": 0, "maximum": WAIT_S_MAX, "default": route.wait_s}
        after = "it is stopped" if route.path == AUDIT else "it goes on"
        says = f"Time limit in seconds; afterwards {after}."
        described.append({"name": "wait_s", "in": "query", "description": says, "schema": waits})
    return described


def _is_required(body: Any) -> bool:
    """Whether an empty object would be refused."""
    try:
        msgspec.convert({}, body)
    except msgspec.ValidationError:
        return True
    return False
