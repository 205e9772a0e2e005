"""Kafka's message schemas: its JSON files, as the package kafka-python ships them.

The package itself is not imported: that costs 90 ms and 22 MB. A schema is a dictionary as in Kafka's files. Fields
whose type is a common struct have its fields.
"""

import json
import re
import struct
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, Final

Schema = dict[str, Any]

FIXED: Final = {
    "bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float64": "d",
}  # fmt: skip
"""{type of a fixed size: its format in `struct`}"""
SCALARS: Final = frozenset({*FIXED, "uuid", "string", "bytes", "records"})
_COMMENT: Final = re.compile(r"(?m)^\s*//.*$")


def _load() -> tuple[dict[int, Schema], dict[int, Schema]]:
    spec = find_spec("kafka")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("kafka-python: not installed; a Kafka listener needs its message schemas")
    requests: dict[int, Schema] = {}
    responses: dict[int, Schema] = {}
    of_type = {"request": requests, "response": responses}
    for path in Path(spec.submodule_search_locations[0], "protocol", "schemas", "resources").glob("*.json"):
        schema = json.loads(_COMMENT.sub("", path.read_text()))
        if (messages := of_type.get(schema["type"])) is not None:
            messages[schema["apiKey"]] = resolved(schema)
    return requests, responses


def resolved(schema: Schema) -> Schema:
    """The schema, with the fields of common structs at each field of such a type."""
    _resolve(schema["fields"], {one["name"]: one["fields"] for one in schema.get("commonStructs", ())})
    return schema


def _resolve(fields: list[Schema], common: dict[str, list[Schema]]) -> None:
    for one in fields:
        kind = entry_type(one)
        if kind not in SCALARS:
            one.setdefault("fields", common.get(kind, []))
            _resolve(one["fields"], common)


def entry_type(field: Schema) -> str:
    """Type of a field; of a list, that of its entries."""
    return str(field["type"]).removeprefix("[]")


def is_list(field: Schema) -> bool:
    return str(field["type"]).startswith("[]")


def is_flexible(schema: Schema, version: int) -> bool:
    """Lengths are varints, and tagged fields may follow (KIP-482)."""
    return within(schema.get("flexibleVersions"), version)


def split_fields(fields: list[Schema], version: int) -> tuple[list[Schema], list[Schema]]:
    """(Fields of the version in their order, its tagged fields)."""
    present = [one for one in fields if within(one["versions"], version)]
    tagged = [one for one in present if within(one.get("taggedVersions"), version)]
    return [one for one in present if one not in tagged], tagged


def in_runs(fields: list[Schema]) -> Iterator[tuple[list[Schema], struct.Struct | None]]:
    """The fields in order: neighbours of fixed sizes with their layout, each other one alone."""
    for fixed, some in groupby(fields, key=lambda one: one["type"] in FIXED):
        if fixed:
            run = list(some)
            yield run, struct.Struct(">" + "".join(FIXED[one["type"]] for one in run))
        else:
            yield from (([one], None) for one in some)


def within(versions: str | None, version: int) -> bool:
    """Whether `version` is in Kafka's notation of versions: `3`, `0-4`, `2+`, `none`."""
    if not versions or versions == "none":
        return False
    first, dash, last = versions.rstrip("+").partition("-")
    if versions.endswith("+"):
        return version >= int(first)
    return int(first) <= version <= int(last if dash else first)


def field_name(field: Schema) -> str:
    """The name of a field here: `topic_data` for `TopicData`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", field["name"]).lower()


def default_of(field: Schema) -> Any:
    """The value of a field that a message does not have."""
    kind, default = field["type"], field.get("default", "")
    if default == "null":
        return None
    if kind == "string":
        return default
    if kind.startswith("[]"):
        return []
    if kind == "bool":
        return str(default).lower() == "true"
    if kind == "float64":
        return float(default or 0)
    if kind in FIXED:
        return int(str(default) or "0", 0)
    return b"" if kind in ("bytes", "records") else None


REQUESTS, RESPONSES = _load()
"""{API key: schema}"""
