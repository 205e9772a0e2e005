"""Decoder of Kafka's requests, built from Kafka's message schemas.

Its work is linear in a frame's size, and each count is bounded. A schema is a dictionary as Kafka's JSON files are.
Each version of a request has one reader, built once: a tree of functions that move a `Cursor` over the frame. A reader
compares each length and count with the bytes that are left before it uses it. All lists and tagged fields of a frame
together have at most `ENTRIES_MAX` entries, because the work of a request grows with its entries: two bytes of a frame
suffice for one.
"""

import re
import struct
import uuid
from collections.abc import Callable
from typing import Any, Final

import msgspec

from protocol.framing import ProtocolError

ENTRIES_MAX: Final = 4_000
"""Kafka has no such bound. A client that lists more partitions in one request is refused."""
STRING_BYTES_MAX: Final = 0x7FFF
VARINT_BYTES_MAX: Final = 5
_FIXED: Final = {
    "bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float64": "d",
}  # fmt: skip
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_UUID_BYTES: Final = 16

Schema = dict[str, Any]


class Cursor:
    """A position in a frame, and the remaining entries that its lists may have."""

    __slots__ = ("data", "end", "entries_left", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.end = len(data)
        self.position = position
        self.entries_left = ENTRIES_MAX

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


def request_reader(schema: Schema, version: int) -> Reader:
    """Reader of a request's body. It raises ProtocolError if the bytes are no such request.

    The body has all of the schema's fields, named as `topic_data`; fields of other versions have their defaults.
    """
    common = {one["name"]: one["fields"] for one in schema.get("commonStructs", ())}
    flexible = _within(schema.get("flexibleVersions"), version)
    return _Readers(version, flexible, common).structure(schema["name"], schema["fields"])[0]


def is_flexible(schema: Schema, version: int) -> bool:
    """Lengths are varints, and tagged fields may follow (KIP-482)."""
    return _within(schema.get("flexibleVersions"), version)


def read_client_id(cursor: Cursor, *, flexible: bool) -> str:
    """The rest of a request's header; its client id is never a compact one."""
    client_id = _string(cursor, _int16_length(cursor), nullable=True)
    if flexible:
        _read_tags(cursor, {})
    return client_id or ""


class _Readers:
    """Builder of one version's readers; returns each with its minimum number of bytes."""

    def __init__(self, version: int, flexible: bool, common: dict[str, list[Schema]]) -> None:
        self._version = version
        self._flexible = flexible
        self._common = common

    def structure(self, name: str, fields: list[Schema]) -> tuple[Reader, int]:
        present = [one for one in fields if _within(one["versions"], self._version)]
        tagged = [one for one in present if _within(one.get("taggedVersions"), self._version)]
        plain = [one for one in present if one not in tagged]
        others = [one for one in fields if one not in plain]
        kind = msgspec.defstruct(
            name,
            [
                *((_name(one), Any) for one in plain),
                *((_name(one), Any, _default(one)) for one in others),
            ],
            gc=False,  # no cycles; the garbage collector would traverse a large request repeatedly
        )
        parts, least = self._parts(plain)
        if self._flexible:
            least += 1
        known = {one["tag"]: (_name(one), self._field(one)[0]) for one in tagged}
        return _structure_reader(kind, parts, known if self._flexible else None), least

    def _parts(self, fields: list[Schema]) -> tuple[list[struct.Struct | Reader], int]:
        """Runs of fields of fixed sizes are read at once."""
        parts: list[struct.Struct | Reader] = []
        least, run = 0, ""
        for one in fields:
            if one["type"] in _FIXED:
                run += _FIXED[one["type"]]
                continue
            if run:
                parts.append(struct.Struct(">" + run))
                least += struct.calcsize(">" + run)
                run = ""
            reader, bytes_ = self._field(one)
            parts.append(reader)
            least += bytes_
        if run:
            parts.append(struct.Struct(">" + run))
            least += struct.calcsize(">" + run)
        return parts, least

    def _field(self, field: Schema) -> tuple[Reader, int]:
        nullable = _within(field.get("nullableVersions"), self._version)
        kind: str = field["type"]
        if kind.startswith("[]"):
            entry, least = self._entry(kind[2:], field)
            return _list_reader(entry, max(1, least), self._count, nullable), self._least_of_length(4)
        reader, least = self._entry(kind, field, nullable)
        if nullable and kind not in _SCALARS:
            return _nullable_reader(reader), 1
        return reader, least

    def _entry(self, kind: str, field: Schema, nullable: bool = False) -> tuple[Reader, int]:
        if kind in _FIXED:
            layout = struct.Struct(">" + _FIXED[kind])
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
        return self.structure(kind, field.get("fields") or self._common[kind])

    @property
    def _count(self) -> Callable[[Cursor], int]:
        return _compact_length if self._flexible else _int32_length

    def _least_of_length(self, plain: int) -> int:
        return 1 if self._flexible else plain


_SCALARS: Final = frozenset({*_FIXED, "uuid", "string", "bytes", "records"})


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


def _list_reader(entry: Reader, least_bytes: int, count_of: Callable[[Cursor], int], nullable: bool) -> Reader:
    def read(cursor: Cursor) -> list[Any] | None:
        count = count_of(cursor)
        if count < 0:
            _require_nullable(cursor, nullable)
            return None
        return [entry(cursor) for _ in range(cursor.entries(count, least_bytes))]

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


def _within(versions: str | None, version: int) -> bool:
    """Whether `version` is in Kafka's notation of versions: `3`, `0-4`, `2+`, `none`."""
    if not versions or versions == "none":
        return False
    first, dash, last = versions.rstrip("+").partition("-")
    if versions.endswith("+"):
        return version >= int(first)
    return int(first) <= version <= int(last if dash else first)


def _name(field: Schema) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", field["name"]).lower()


def _default(field: Schema) -> Any:
    """The value of a field in versions without it."""
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
    if kind in _FIXED:
        return int(str(default) or "0", 0)
    return b"" if kind in ("bytes", "records") else None
