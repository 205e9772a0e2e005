"""Encoder of Kafka's messages, built from Kafka's message schemas.

It is the counterpart of `request_decoder`. Each version of a message has one writer, built once: a tree of functions
that append a value's bytes to a list of chunks. A struct is a dictionary by the names of its schema's fields. A field
that it does not have gets its default.
Record batches pass through as bytes, and are copied once, when the frame is joined.
"""

import struct
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final

from emulator.worlds.network.kafka_listener.message_schemas import (
    FIXED,
    SCALARS,
    Schema,
    default_of,
    entry_type,
    field_name,
    in_runs,
    is_flexible,
    is_list,
    split_fields,
)

ERROR_MESSAGE_CHARACTERS_MAX: Final = 1_000
"""Messages quote clients' texts, and a string of the protocol has at most 32,767 bytes."""
_INT16: Final = struct.Struct(">h").pack
_INT32: Final = struct.Struct(">i").pack
_ONE_BYTE: Final = [bytes((value,)) for value in range(0x80)]
"""Varints below 128."""
_NO_TAGS: Final = b"\x00"
_NO_UUID: Final = bytes(16)

Chunks = list[bytes]
Fields = dict[str, Any]
"""A struct's values, by the names of its fields."""
Writer = Callable[[Chunks, Any], None]


def message_writer(schema: Schema, version: int) -> Writer:
    """Writer of a message's body. It raises ValueError if a struct has an unknown field."""
    return _Writers(version, is_flexible(schema, version)).structure(schema["name"], schema["fields"])


def varint(value: int) -> bytes:
    """An unsigned number, seven bits a byte."""
    if value < 0x80:
        return _ONE_BYTE[value]
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _compact_length(length: int) -> bytes:
    return varint(length + 1)


class _Writers:
    """Builder of one version's writers."""

    def __init__(self, version: int, flexible: bool) -> None:
        self._version = version
        self._flexible = flexible
        self._length_of_list: Callable[[int], bytes] = _compact_length if flexible else _INT32
        self._length_of_string: Callable[[int], bytes] = _compact_length if flexible else _INT16

    def structure(self, name: str, fields: list[Schema]) -> Writer:
        defaults = {field_name(one): default_of(one) for one in fields}
        plain, tagged = split_fields(fields, self._version)
        steps = self._steps(plain)
        if self._flexible:
            steps.append(_tags_writer([(one["tag"], field_name(one), self._field(one)) for one in tagged], defaults))

        def write(chunks: Chunks, given: Fields) -> None:
            values = defaults | given
            if len(values) != len(defaults):
                raise ValueError(f"{name}: no fields {sorted(given.keys() - defaults.keys())}")
            for step in steps:
                step(chunks, values)

        return write

    def _steps(self, fields: list[Schema]) -> list[Writer]:
        """Writers of a struct's values, in order; a run of fields of fixed sizes has one writer."""
        return [
            _field_writer(field_name(run[0]), self._field(run[0])) if layout is None else _run_writer(run, layout.pack)
            for run, layout in in_runs(fields)
        ]

    def _field(self, field: Schema) -> Writer:
        kind = entry_type(field)
        if is_list(field):
            return _list_writer(self._scalar(field) if kind in SCALARS else self._struct(field), self._length_of_list)
        return self._scalar(field) if kind in SCALARS else self._struct(field)

    def _struct(self, field: Schema) -> Writer:
        return self.structure(entry_type(field), field["fields"])

    def _scalar(self, field: Schema) -> Writer:
        kind = entry_type(field)
        if kind in FIXED:
            pack = struct.Struct(">" + FIXED[kind]).pack
            return lambda chunks, value: chunks.append(pack(value))
        if kind == "uuid":
            return lambda chunks, value: chunks.append(_NO_UUID if value is None else value.bytes)
        if kind == "string":
            most = ERROR_MESSAGE_CHARACTERS_MAX if field_name(field) == "error_message" else None
            return _string_writer(self._length_of_string, most)
        return _bytes_writer(self._length_of_list)


def _run_writer(fields: list[Schema], pack: Callable[..., bytes]) -> Writer:
    if len(fields) == 1:
        name = field_name(fields[0])
        return lambda chunks, values: chunks.append(pack(values[name]))
    values_of = itemgetter(*map(field_name, fields))
    return lambda chunks, values: chunks.append(pack(*values_of(values)))


def _field_writer(name: str, writer: Writer) -> Writer:
    return lambda chunks, values: writer(chunks, values[name])


def _list_writer(entry: Writer, length: Callable[[int], bytes]) -> Writer:
    def write(chunks: Chunks, values: list[Any] | None) -> None:
        if values is None:
            chunks.append(length(-1))
            return
        chunks.append(length(len(values)))
        for one in values:
            entry(chunks, one)

    return write


def _string_writer(length: Callable[[int], bytes], most_characters: int | None) -> Writer:
    def write(chunks: Chunks, value: str | None) -> None:
        if value is None:
            chunks.append(length(-1))
            return
        encoded = value[:most_characters].encode()
        chunks.append(length(len(encoded)))
        chunks.append(encoded)

    return write


def _bytes_writer(length: Callable[[int], bytes]) -> Writer:
    def write(chunks: Chunks, value: bytes | None) -> None:
        chunks.append(length(-1 if value is None else len(value)))
        if value:
            chunks.append(value)

    return write


def _tags_writer(tagged: list[tuple[int, str, Writer]], defaults: Fields) -> Writer:
    """Writer of the tagged fields that have not their defaults."""
    if not tagged:
        return lambda chunks, values: chunks.append(_NO_TAGS)

    def write(chunks: Chunks, values: Fields) -> None:
        present = [(tag, values[name], writer) for tag, name, writer in tagged if values[name] != defaults[name]]
        chunks.append(varint(len(present)))
        for tag, value, writer in present:
            own: Chunks = []
            writer(own, value)
            encoded = b"".join(own)
            chunks.extend((varint(tag), varint(len(encoded)), encoded))

    return write
