"""Fields of Kafka's flexible messages: varints, compact strings and lists, tagged fields.

A compact length is an unsigned varint plus one; 0 is null. Tagged fields end each struct: their count, then for each
its tag, its size and its bytes; a reader skips those that it does not know.

Source: KIP-482, ByteUtils.readUnsignedVarint, Uuid.toString.
"""

import binascii
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Final

from protocol.ids import BrokerId
from protocol.records.schema_fields import Fields, UnreadableRecord

NO_TAGS: Final = b"\0"
UUID_BYTES: Final = 16
UUID_CHARACTERS: Final = 22
_UVARINT_BITS: Final = 32


def uvarint(value: int) -> bytes:
    """The bytes of an unsigned number of at most 32 bits."""
    assert value >> _UVARINT_BITS == 0, value
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def uuid_text(data: bytes) -> str:
    """Kafka's text of 16 bytes: base64 for URLs, without padding."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def is_uuid(text: str) -> bool:
    """Whether `text` is Kafka's text of 16 bytes, in the one way that `uuid_text` writes it."""
    if len(text) != UUID_CHARACTERS or not text.isascii():
        return False
    try:
        return uuid_text(urlsafe_b64decode(text + "==")) == text
    except binascii.Error:
        return False


def uuid(text: str) -> bytes:
    """The 16 bytes of a uuid's text. Raises ValueError for another text."""
    if not is_uuid(text):
        raise ValueError(f"uuid {text[:40]!r}: not {UUID_CHARACTERS} characters of base64; use uuid_text of 16 bytes")
    return urlsafe_b64decode(text + "==")


def compact_string(text: str) -> bytes:
    encoded = text.encode()
    return uvarint(len(encoded) + 1) + encoded


def nullable_string(text: str | None) -> bytes:
    return uvarint(0) if text is None else compact_string(text)


def brokers(ids: Sequence[int]) -> bytes:
    """The bytes of a compact list of broker ids."""
    return uvarint(len(ids) + 1) + struct.pack(f">{len(ids)}i", *ids)


def tagged(*fields: tuple[int, bytes | None]) -> bytes:
    """The tagged fields of a struct, by ascending tag; those with None are left out."""
    present = [(tag, data) for tag, data in fields if data is not None]
    return uvarint(len(present)) + b"".join(uvarint(tag) + uvarint(len(data)) + data for tag, data in present)


class CompactFields(Fields):
    """Reads a flexible message's fields in order; each method raises UnreadableRecord."""

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.number(">B")
            value |= (byte & 0x7F) << shift
            if value >> _UVARINT_BITS or shift >= _UVARINT_BITS:
                raise UnreadableRecord(f"{self._what}: a varint of more than {_UVARINT_BITS} bits before {self._at}")
            if byte < 0x80:
                return value
            shift += 7

    def uuid(self) -> str:
        return uuid_text(self._some(UUID_BYTES))

    def compact_string(self) -> str:
        text = self.nullable_compact_string()
        if text is None:
            raise UnreadableRecord(f"{self._what}: null before {self._at}, where a string belongs")
        return text

    def nullable_compact_string(self) -> str | None:
        length = self.uvarint()
        return None if length == 0 else self._decoded(length - 1)

    def nullable_brokers(self) -> tuple[BrokerId, ...] | None:
        length = self.uvarint()
        if length == 0:
            return None
        data = self._some(4 * (length - 1))
        return tuple(BrokerId(broker) for broker in struct.unpack(f">{length - 1}i", data))

    def brokers(self) -> tuple[BrokerId, ...]:
        return self.nullable_brokers() or ()

    def count(self) -> int:
        """The length of a compact list of structs; 0 for null."""
        length = self.uvarint()
        if length > len(self._data) - self._at + 1:
            raise self._ends()
        return max(0, length - 1)

    def skip(self, length_bytes: int) -> None:
        self._some(length_bytes)

    def tagged(self, readers: dict[int, Callable[["CompactFields"], None]]) -> None:
        """Read the tagged fields that end a struct: each by its reader; unknown ones are skipped."""
        for _ in range(self.uvarint()):
            tag = self.uvarint()
            data = self._some(self.uvarint())
            if (reader := readers.get(tag)) is not None:
                field = CompactFields(data, f"{self._what}, tag {tag}")
                reader(field)
                field.end()
