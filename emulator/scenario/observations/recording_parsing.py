"""Reading observations: a file's text to `Observations`, or one message with the place.

Strict about structure (a missing key, a list where a number belongs), lenient about the value in a leaf:
a wrong value is a difference for `recording_comparison` to report, not a file that cannot be read. Kinds of `saw` that
`observation_model` does not know are kept as they are.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from emulator.scenario.observations.observation_model import (
    FORMATS,
    KRAFT_LISTS,
    LISTS,
    SAW,
    TIMES,
    Observations,
    of_kraft,
)
from protocol.undecodable import UNDECODABLE, why

SHOWN_FORMATS = " or ".join(map(str, FORMATS))


class Malformed(ValueError):
    """A file that is not observations of format 2 or 3.

    The message has the file, the place and the expected value.
    """


def parse(text: str | bytes, name: str) -> Observations:
    """Reads a file's text; `name` stands in messages. Raises Malformed."""
    try:
        document = msgspec.json.decode(text)
    except UNDECODABLE as error:
        raise Malformed(f"{name}: not JSON: {why(error)}") from error
    return from_document(document, name)


def from_document(document: object, name: str) -> Observations:
    """Check the structure of a decoded file.

    Raises Malformed with the first fault and the number of others.
    """
    faults = list(_faults(document))
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise Malformed(f"{name}: {faults[0]}{more}")
    assert isinstance(document, dict)
    return _of(document)


def plain(observations: Observations) -> Observations:
    """The same with every entry as a plain dict and tuples as lists, as if written and read."""
    return _of(msgspec.json.decode(msgspec.json.encode(observations)))


def _of(document: dict[str, Any]) -> Observations:
    return Observations(**{field: document[field] for field in Observations.__struct_fields__ if field in document})


def _faults(document: object) -> Iterator[str]:
    if not isinstance(document, dict):
        yield f"expected an object with the keys of format {SHOWN_FORMATS}, got {_kind(document)}"
        return
    if document.get("format") not in FORMATS:
        yield f"format: expected {SHOWN_FORMATS}, got {document.get('format', 'nothing')!r}"
        return
    lists = KRAFT_LISTS if of_kraft(document["format"], document.get("mode")) else LISTS
    for field in ("scenario", "kafka"):
        if not isinstance(document.get(field), str):
            yield f"{field}: expected a text, got {_kind(document.get(field, _ABSENT))}"
    for field in ("mode", "nodes"):
        if not isinstance(document.get(field, ""), str):
            yield f"{field}: expected a text, got {_kind(document[field])}"
    for field in ("settings", "settings_by_broker", "controller_settings"):
        if not isinstance(document.get(field, {}), dict):
            yield f"{field}: expected an object, got {_kind(document[field])}"
    brokers = document.get("settings_by_broker")
    for broker, given in brokers.items() if isinstance(brokers, dict) else ():
        if not isinstance(given, dict):
            yield f"settings_by_broker.{broker}: expected an object, got {_kind(given)}"
    for field in ("timeline", *lists):
        entries = document.get(field, _ABSENT)
        if not isinstance(entries, list):
            yield f"{field}: expected a list of entries, got {_kind(entries)}"
            continue
        for index, entry in enumerate(entries):
            yield from _entry_faults(f"{field}[{index}]", entry, lists.get(field))


def _entry_faults(path: str, entry: object, kind: type[msgspec.Struct] | None) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"{path}: expected an entry, got {_kind(entry)}"
        return
    if kind is None:
        if isinstance(entry.get("do"), str):
            return
        if not isinstance(entry.get("saw"), str):
            keys = ", ".join(map(str, entry)) or "none"
            yield f"{path}: expected a key `do` or `saw` with a text, got keys {keys}"
            return
        kind = SAW.get(entry["saw"])
    if kind is not None:
        yield from _shape_faults(path, entry, _shape(kind))


@cache
def _shape(kind: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(kind)


class _Absent:
    pass


_ABSENT = _Absent()


def _shape_faults(path: str, value: object, wanted: inspect.Type) -> Iterator[str]:
    """Faults of structure only: any scalar may stand where a scalar belongs."""
    if isinstance(wanted, inspect.AnyType):
        return
    options = wanted.types if isinstance(wanted, inspect.UnionType) else (wanted,)
    container = next((o for o in options if isinstance(o, _CONTAINERS)), None)
    if not isinstance(value, dict | list):
        if container is not None and not (value is None and len(options) > 1):
            yield f"{path}: expected {_described(wanted)}, got {_kind(value)}"
        return
    match container:
        case inspect.StructType() if isinstance(value, dict):
            for field in container.fields:
                if field.name in value:
                    yield from _shape_faults(f"{path}.{field.name}", value[field.name], field.type)
                elif field.required and field.name not in TIMES:
                    yield f"{path}.{field.name}: expected {_described(field.type)}, got nothing"
        case inspect.DictType() if isinstance(value, dict):
            for key, item in value.items():
                yield from _shape_faults(f"{path}.{key}", item, container.value_type)
        case inspect.ListType() if isinstance(value, list):
            for index, item in enumerate(value):
                yield from _shape_faults(f"{path}[{index}]", item, container.item_type)
        case inspect.TupleType() if isinstance(value, list) and len(value) == len(container.item_types):
            for index, (item, of) in enumerate(zip(value, container.item_types, strict=True)):
                yield from _shape_faults(f"{path}[{index}]", item, of)
        case _:
            yield f"{path}: expected {_described(wanted)}, got {_kind(value)}"


_CONTAINERS = (inspect.StructType, inspect.DictType, inspect.ListType, inspect.TupleType)


def _described(wanted: inspect.Type) -> str:
    match wanted:
        case inspect.UnionType():
            return " or ".join(_described(option) for option in wanted.types)
        case inspect.IntType():
            return "a number"
        case inspect.FloatType():
            return "seconds"
        case inspect.StrType():
            return "a text"
        case inspect.BoolType():
            return "true or false"
        case inspect.NoneType():
            return "null"
        case inspect.ListType():
            return f"a list ({_described(wanted.item_type)} each)"
        case inspect.TupleType():
            return f"a list of {len(wanted.item_types)}"
        case inspect.StructType():
            return f"an object with {', '.join(f.name for f in wanted.fields if f.required)}"
        case _:
            return "an object"


def _kind(value: object) -> str:
    match value:
        case _Absent():
            return "nothing"
        case None:
            return "null"
        case dict():
            return "an object"
        case list():
            return f"a list of {len(value)}"
        case _:
            return repr(value) if len(repr(value)) <= 40 else repr(value)[:37] + "..."
