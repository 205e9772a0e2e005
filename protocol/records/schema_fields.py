"""Numbers, strings and bytes of Kafka's schemas, as in records of its own topics.

Big-endian; a string's length is an i16, that of bytes an i32; -1 is null.

Source: org.apache.kafka.common.protocol.types.
"""

import struct
from typing import Final

STRING_BYTES_MAX: Final = (1 << 15) - 1


class UnreadableRecord(ValueError):
    """Bytes that are no such record; the message has the part and the reason."""


def string(text: str) -> bytes:
    """A string's bytes. Raises ValueError above STRING_BYTES_MAX bytes."""
    encoded = text.encode()
    if len(encoded) > STRING_BYTES_MAX:
        raise ValueError(f"{text[:40]!r}... has {len(encoded)} bytes; a string has at most {STRING_BYTES_MAX}")
    return struct.pack(">h", len(encoded)) + encoded


def nullable_string(text: str | None) -> bytes:
    """A string's bytes, or null. Raises ValueError as `string`."""
    return struct.pack(">h", -1) if text is None else string(text)


def sized_bytes(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


class Fields:
    """Reads fields in order; each method raises UnreadableRecord. `what`: for its message."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._what = what
        self._at = 0

    def number(self, layout: str) -> int:
        try:
            (value,) = struct.unpack_from(layout, self._data, self._at)
        except struct.error:
            raise self._ends() from None
        self._at += struct.calcsize(layout)
        return int(value)

    def string(self) -> str:
        text = self.nullable_string()
        if text is None:
            raise self._ends()
        return text

    def nullable_string(self) -> str | None:
        length = self.number(">h")
        return None if length == -1 else self._decoded(length)

    def sized_bytes(self) -> bytes:
        return self._some(self.number(">i"))

    def nullable_bytes(self) -> bytes | None:
        length = self.number(">i")
        return None if length == -1 else self._some(length)

    def end(self) -> None:
        if self._at != len(self._data):
            raise UnreadableRecord(f"{self._what}: {len(self._data) - self._at} bytes after the last field")

    def _decoded(self, length: int) -> str:
        at = self._at
        try:
            return self._some(length).decode()
        except UnicodeDecodeError as error:
            raise UnreadableRecord(f"{self._what}: no UTF-8 at byte {at}: {error.reason}") from None

    def _some(self, length: int) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise self._ends()
        data = self._data[self._at : end]
        self._at = end
        return data

    def _ends(self) -> UnreadableRecord:
        return UnreadableRecord(f"{self._what}: {len(self._data)} bytes end inside the field at {self._at}")
