"""One message of formats 0 and 1, the entry of logs before 0.11.

    0  offset i64           16  magic i8 (0 or 1)       18  (magic 1, KIP-32) timestamp i64
    8  size i32             17  attributes i8               key i32 length (-1: none) and bytes
       (bytes after itself)                                 value i32 length (-1: none) and bytes
    12 crc u32 (CRC-32 of the bytes from 16 to the end)

The checksum leaves out offset and size, so that a leader can set the offset on append.
"""

import struct
import zlib
from typing import Final, Literal, NamedTuple

from protocol.ids import Offset
from protocol.records.compression import CODECS, Compression
from protocol.records.errors import (
    BadCompression,
    BadLength,
    RecordsError,
    TooLarge,
    TruncatedRecord,
    UnknownMagic,
)
from protocol.records.types import BATCH_BYTES_MAX, NO_TIMESTAMP, Data

Magic = Literal[0, 1]

CODEC_IDS_END: Final = 4
"""Number of codecs of messages: zstd came later than batches (KIP-110)."""

LOG_APPEND_TIME: Final = 0x08

_OVERHEAD_BYTES = 12
_SIZE_MIN = {0: 14, 1: 22}
_CRC_COVERS_FROM = 16
_FIELDS_FROM = 18

_unpack_entry = struct.Struct(">qiIbbq").unpack_from
_unpack_short_entry = struct.Struct(">qiIbb").unpack_from
_pack_entry = struct.Struct(">qiI").pack
_pack_attributes = struct.Struct(">bb").pack
_pack_i64 = struct.Struct(">q").pack
_pack_i32 = struct.Struct(">i").pack


class Message(NamedTuple):
    """One entry as stored, not unpacked."""

    offset: Offset
    size_bytes: int
    crc: int
    magic: Magic
    attributes: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None

    @property
    def codec(self) -> Compression:
        return CODECS[self.attributes & 0x07]


class Fields(NamedTuple):
    """Fields of a message to encode."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int


def encode_message(offset: int, fields: Fields, magic: Magic, attributes: int) -> bytes:
    timestamp = _pack_i64(fields.timestamp_ms) if magic else b""
    body = _pack_attributes(magic, attributes) + timestamp + _sized(fields.key) + _sized(fields.value)
    return _pack_entry(offset, len(body) + 4, zlib.crc32(body)) + body


def _sized(field: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if field is None else _pack_i32(len(field)) + field


def crc_at(data: Data, position: int, size_bytes: int) -> int:
    """The right CRC-32 of the message of `size_bytes` at `position`."""
    return zlib.crc32(data[position + _CRC_COVERS_FROM : position + size_bytes])


def read_envelope(data: Data, position: int) -> tuple[Offset, int, int, Magic, int, int]:
    """(offset, size in bytes, crc, magic, attributes, timestamp in ms) of a message.

    The message at `position` is complete and its codec is known; key and value are not decoded. Raises TruncatedRecord
    or a CorruptRecord.
    """
    try:
        offset, size, crc, magic, attributes, timestamp_ms = _unpack_entry(data, position)
    except struct.error:
        # Less than 26 bytes: still a whole message of format 0, if a short one.
        if len(data) - position < _FIELDS_FROM:
            raise _diagnose(data, position) from None
        offset, size, crc, magic, attributes = _unpack_short_entry(data, position)
        timestamp_ms = NO_TIMESTAMP
    least = _SIZE_MIN.get(magic, BATCH_BYTES_MAX + 1)
    if not least <= size <= len(data) - position - _OVERHEAD_BYTES or size > BATCH_BYTES_MAX:
        raise _diagnose(data, position)
    if attributes & 0x07 >= CODEC_IDS_END:
        raise BadCompression(position, f"codec {attributes & 0x07}, messages know 0 to {CODEC_IDS_END - 1}")
    if magic == 0:
        timestamp_ms = NO_TIMESTAMP
    return offset, size + _OVERHEAD_BYTES, crc, magic, attributes, timestamp_ms


def read_message(data: Data, position: int) -> Message:
    """The message at `position`, a wrapper's value still packed. Raises as `read_envelope`."""
    offset, size_bytes, crc, magic, attributes, timestamp_ms = read_envelope(data, position)
    end = position + size_bytes
    at = position + _FIELDS_FROM + (8 if magic else 0)
    key, at = _read_field(data, at, end - 4, position, "key")
    value, at = _read_field(data, at, end, position, "value")
    if at != end:
        raise BadLength(position, f"{end - at} bytes after the value of a message of {size_bytes} bytes")
    return Message(offset, size_bytes, crc, magic, attributes, timestamp_ms, key, value)


def _read_field(data: Data, at: int, end: int, position: int, name: str) -> tuple[bytes | None, int]:
    length = int.from_bytes(data[at : at + 4], "big", signed=True)
    at += 4
    if length == -1:
        return None, at
    if length < 0 or at + length > end:
        raise BadLength(position, f"a {name} of {length} bytes, {end - at} left")
    return bytes(data[at : at + length]), at + length


def _diagnose(data: Data, position: int) -> RecordsError:
    """Reason why no whole message starts at `position`: the slow half of `read_envelope`."""
    assert position >= 0
    left = len(data) - position
    if left < _OVERHEAD_BYTES:
        return TruncatedRecord(position, f"{left} bytes left, offset and size take {_OVERHEAD_BYTES}")
    size = int.from_bytes(data[position + 8 : position + 12], "big", signed=True)
    magic = data[position + _CRC_COVERS_FROM] if left > _CRC_COVERS_FROM else 0
    least = _SIZE_MIN.get(magic, _SIZE_MIN[0])
    if size < least:
        return BadLength(position, f"message size {size}, the least is {least}")
    if size > BATCH_BYTES_MAX:
        return TooLarge(position, f"message size {size}, the most is {BATCH_BYTES_MAX}")
    if magic not in _SIZE_MIN:
        return UnknownMagic(position, f"magic {magic}, a message has 0 or 1")
    assert size > left - _OVERHEAD_BYTES, "a message that can be read was diagnosed"
    return TruncatedRecord(position, f"a message of {size + _OVERHEAD_BYTES} bytes, {left} left")
