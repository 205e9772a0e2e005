"""Decoder of Kafka's requests, built from Kafka's message schemas.

Its work is linear in a frame's size, and each count is bounded. A schema is a dictionary as Kafka's JSON files are.
Each version of a request has one reader, built once: a tree of functions that move a `Cursor` over the frame. A reader
compares each length and count with the bytes that are left before it uses it. All lists and tagged fields of a frame
together have at most `ENTRIES_MAX` entries, because the work of a request grows with its entries: two bytes of a frame
suffice for one.
"""

import struct
import uuid
from collections.abc import Callable
from typing import Any, Final

import msgspec

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
    within,
)
from protocol.framing import MAX_FRAME_BYTES, ProtocolError

ENTRIES_MAX: Final = 4_000
"""Kafka has no such bound. A client that lists more partitions in one request is refused."""
LONG_TEXT_BYTES: Final = MAX_FRAME_BYTES // ENTRIES_MAX
"""A shorter text, as often as a request has entries, fits into a frame of ours."""
STRING_BYTES_MAX: Final = 0x7FFF
VARINT_BYTES_MAX: Final = 5
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_UUID_BYTES: Final = 16


class Cursor:
    """A position in a frame, and the remaining entries that its lists may have."""

    __slots__ = ("data", "end", "entries_left", "has_long_text", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.end = len(data)
        self.position = position
        self.entries_left = ENTRIES_MAX
        self.has_long_text = False

    def take(self, size_bytes: int) -> bytes:
        """The next bytes. Raises ProtocolError if fewer are left."""
        start = self.position
        if size_bytes > self.end - start:
            raise ProtocolError(f"a field of {size_bytes} bytes at byte {start}; {self.end - start} bytes are left")
        self.position = start + size_bytes
        return self.data[start : start + size_bytes]

    def fixed(self, layout: struct.Struct) -> tuple[Any, ...]:
        start = self.position
        stop = start + layout.size
        if stop > self.end:
            raise ProtocolError(f"a field of {layout.size} bytes at byte {start}; {self.end - start} bytes are left")
        self.position = stop
        return layout.unpack_from(self.data, start)

    def varint(self) -> int:
        """An unsigned number of at most 32 bits."""
        data, position, end = self.data, self.position, self.end
        if position < end and data[position] < 0x80:
            self.position = position + 1
            return data[position]
        value = 0
        for index in range(VARINT_BYTES_MAX):
            if position + index >= end:
                raise ProtocolError(f"a number at byte {position} has no end")
            byte = data[position + index]
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                if value >= 1 << 32:
                    break
                self.position = position + index + 1
                return value
        raise ProtocolError(f"a number at byte {position} has more than 32 bits")

    def entries(self, count: int, least_bytes: int) -> int:
        """`count`, if so many entries of at least `least_bytes` can follow."""
        if count * least_bytes > self.end - self.position:
            raise ProtocolError(f"{count} entries at byte {self.position}; {self.end - self.position} bytes are left")
        self.entries_left -= count
        if self.entries_left < 0:
            raise ProtocolError(f"more than {ENTRIES_MAX} entries in the lists of one request; send several requests")
        return count


Reader = Callable[[Cursor], Any]


def request_reader(schema: Schema, version: int, limits: dict[str, int]) -> Reader:
    """Reader of a request's body. It raises ProtocolError if the bytes are no such request.

    `limits`: {field: maximum entries, characters or bytes}. A reader checks a list's before it decodes an entry. The
    body has all of the schema's fields, named as `topic_data`; fields of other versions have their defaults.
    """
    return _Readers(version, is_flexible(schema, version), limits).structure(schema["name"], schema["fields"])[0]


def read_client_id(cursor: Cursor, *, flexible: bool) -> str:
    """The rest of a request's header; its client id is never a compact one."""
    client_id = _string(cursor, _int16_length(cursor), nullable=True)
    if flexible:
        _read_tags(cursor, {})
    return client_id or ""


class _Readers:
    """Builder of one version's readers; returns each with its minimum number of bytes."""

    def __init__(self, version: int, flexible: bool, limits: dict[str, int]) -> None:
        self._version = version
        self._flexible = flexible
        self._limits = limits

    def structure(self, name: str, fields: list[Schema]) -> tuple[Reader, int]:
        plain, tagged = split_fields(fields, self._version)
        others = [one for one in fields if one not in plain]
        kind = msgspec.defstruct(
            name,
            [
                *((field_name(one), Any) for one in plain),
                *((field_name(one), Any, default_of(one)) for one in others),
            ],
            gc=False,  # no cycles; the garbage collector would traverse a large request repeatedly
        )
        parts, least = self._parts(plain)
        if self._flexible:
            least += 1
        known = {one["tag"]: (field_name(one), self._field(one)[0]) for one in tagged}
        return _structure_reader(kind, parts, known if self._flexible else None), least

    def _parts(self, fields: list[Schema]) -> tuple[list[struct.Struct | Reader], int]:
        """Runs of fields of fixed sizes are read at once."""
        parts: list[struct.Struct | Reader] = []
        least = 0
        for run, layout in in_runs(fields):
            part, bytes_ = self._field(run[0]) if layout is None else (layout, layout.size)
            parts.append(part)
            least += bytes_
        return parts, least

    def _field(self, field: Schema) -> tuple[Reader, int]:
        nullable = within(field.get("nullableVersions"), self._version)
        kind = entry_type(field)
        limit = self._limits.get(field_name(field))
        if is_list(field):
            entry, least = self._entry(kind, field)
            reader = _list_reader(field_name(field), entry, max(1, least), self._count, nullable, limit or ENTRIES_MAX)
            return reader, self._least_of_length(4)
        reader, least = self._entry(kind, field, nullable)
        if nullable and kind not in SCALARS:
            return _nullable_reader(reader), 1
        return reader if limit is None else _limited_value(reader, field_name(field), limit), least

    def _entry(self, kind: str, field: Schema, nullable: bool = False) -> tuple[Reader, int]:
        if kind in FIXED:
            layout = struct.Struct(">" + FIXED[kind])
            return (lambda cursor: cursor.fixed(layout)[0]), layout.size
        length = _compact_length if self._flexible else None
        match kind:
            case "uuid":
                return (lambda cursor: uuid.UUID(bytes=cursor.take(_UUID_BYTES))), _UUID_BYTES
            case "string":
                of_string = length or _int16_length
                return (lambda cursor: _string(cursor, of_string(cursor), nullable)), self._least_of_length(2)
            case "bytes" | "records":
                of_bytes = length or _int32_length
                return (lambda cursor: _bytes(cursor, of_bytes(cursor), nullable)), self._least_of_length(4)
        return self.structure(kind, field["fields"])

    @property
    def _count(self) -> Callable[[Cursor], int]:
        return _compact_length if self._flexible else _int32_length

    def _least_of_length(self, plain: int) -> int:
        return 1 if self._flexible else plain


def _structure_reader(
    kind: Callable[..., Any], parts: list[struct.Struct | Reader], known: dict[int, tuple[str, Reader]] | None
) -> Reader:
    """`known`: {tag: (name of its field, reader)}; None: no tagged fields follow."""
    if known is None and len(parts) == 1 and isinstance(parts[0], struct.Struct):
        layout = parts[0]
        return lambda cursor: kind(*cursor.fixed(layout))
    steps = [(part, None) if isinstance(part, struct.Struct) else (None, part) for part in parts]

    def read(cursor: Cursor) -> Any:
        values: list[Any] = []
        for layout, reader in steps:
            if reader is not None:
                values.append(reader(cursor))
            elif layout is not None:
                values += cursor.fixed(layout)
        if known is not None:
            position = cursor.position
            if position < cursor.end and cursor.data[position] == 0:
                cursor.position = position + 1
            else:
                return kind(*values, **_read_tags(cursor, known))
        return kind(*values)

    return read


def _read_tags(cursor: Cursor, known: dict[int, tuple[str, Reader]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(cursor.entries(cursor.varint(), 2)):
        tag, size_bytes = cursor.varint(), cursor.varint()
        start = cursor.position
        if size_bytes > cursor.end - start:
            raise ProtocolError(f"a tagged field of {size_bytes} bytes at byte {start}; {cursor.end - start} are left")
        if tag in known:
            name, reader = known[tag]
            found[name] = reader(cursor)
            if cursor.position != start + size_bytes:
                raise ProtocolError(f"tagged field {name} has {cursor.position - start} bytes, not {size_bytes}")
        cursor.position = start + size_bytes
    return found


def _list_reader(
    name: str, entry: Reader, least_bytes: int, count_of: Callable[[Cursor], int], nullable: bool, most: int
) -> Reader:
    def read(cursor: Cursor) -> list[Any] | None:
        count = count_of(cursor)
        if count < 0:
            _require_nullable(cursor, nullable)
            return None
        cursor.entries(count, least_bytes)
        if count > most:
            raise ProtocolError(f"{count} entries of {name} before byte {cursor.position}; at most {most} may be")
        return [entry(cursor) for _ in range(count)]

    return read


def _limited_value(reader: Reader, name: str, most: int) -> Reader:
    """Reader of a text of at most `most` characters, or of as many bytes."""

    def read(cursor: Cursor) -> Any:
        value = reader(cursor)
        if value is not None and len(value) > most:
            raise ProtocolError(f"{name} of length {len(value)} before byte {cursor.position}; at most {most} may be")
        return value

    return read


def _nullable_reader(reader: Reader) -> Reader:
    """Reader of a nullable structure: a byte marks null."""
    is_there = struct.Struct(">b")
    return lambda cursor: None if cursor.fixed(is_there)[0] < 0 else reader(cursor)


def _int16_length(cursor: Cursor) -> int:
    return int(cursor.fixed(_INT16)[0])


def _int32_length(cursor: Cursor) -> int:
    return int(cursor.fixed(_INT32)[0])


def _compact_length(cursor: Cursor) -> int:
    return cursor.varint() - 1


def _string(cursor: Cursor, length: int, nullable: bool) -> str | None:
    if length < 0:
        _require_nullable(cursor, nullable)
        return None
    if length > STRING_BYTES_MAX:
        raise ProtocolError(f"a string of {length} bytes at byte {cursor.position}; at most {STRING_BYTES_MAX} may be")
    if length > LONG_TEXT_BYTES:
        cursor.has_long_text = True
    try:
        return cursor.take(length).decode()
    except UnicodeDecodeError:
        raise ProtocolError(f"a string before byte {cursor.position} is not UTF-8") from None


def _bytes(cursor: Cursor, length: int, nullable: bool) -> bytes | None:
    if length < 0:
        _require_nullable(cursor, nullable)
        return None
    return cursor.take(length)


def _require_nullable(cursor: Cursor, nullable: bool) -> None:
    if not nullable:
        raise ProtocolError(f"null before byte {cursor.position}, where a value must be")
