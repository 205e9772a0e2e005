"""Values of an entry's records alone, for readers of many batches.

Checksums, keys, timestamps and headers are skipped; the leader checks them on append.
"""

from typing import Final

from protocol.records import batch, message_set
from protocol.records.compression import DecompressedTooLarge, DecompressionFailed, decompress
from protocol.records.errors import TooLarge
from protocol.records.types import BatchHeader, Data
from protocol.records.varint import decode_varint

NULL: Final = 1
"""The length -1, as a byte."""


def values_of(data: Data, position: int, header: BatchHeader, *, limit_bytes: int) -> list[bytes]:
    """Values of the entry at `position`, whose `header` was read; b"" for null.

    Raises TooLarge (more than `limit_bytes` unpacked) and other ValueErrors (fewer records than in its header).
    """
    if header.magic != batch.MAGIC:
        return message_set.values_of(data, position)
    records = bytes(data[position + batch.HEADER_BYTES : position + header.size_bytes])
    try:
        return _values_in(decompress(header.compression, records, limit_bytes), header.record_count)
    except DecompressedTooLarge as excess:
        raise TooLarge(position, str(excess)) from None
    except (DecompressionFailed, IndexError) as error:
        raise ValueError(f"the records of the batch at {position}: {error}") from error


def _values_in(records: bytes, count: int) -> list[bytes]:
    """Values of `count` records. Raises IndexError (truncated), ValueError (invalid length).

    Numbers of one or two bytes, which are nearly all, are read inline: this runs for each record that a client
    produces.
    """
    values: list[bytes] = []
    add = values.append
    at, size_bytes = 0, len(records)
    for _ in range(count):
        length = records[at]
        if length < 0x80:
            end = at + 1 + (length >> 1)
            at += 2  # and the attributes
        elif records[at + 1] < 0x80:
            length = length & 0x7F | records[at + 1] << 7
            end = at + 2 + (length >> 1)
            at += 3
        else:
            length, at = _number(records, at)
            end = at + (length >> 1)
            at += 1
        while records[at] & 0x80:  # the timestamp's delta
            at += 1
        at += 1
        while records[at] & 0x80:  # the offset's
            at += 1
        at += 1
        if records[at] == NULL:  # the key
            at += 1
        else:
            key_length, at = decode_varint(records, at)
            if key_length > 0:
                at += key_length
        value_length = records[at]
        if value_length < 0x80:
            at += 1
        elif records[at + 1] < 0x80:
            value_length, at = value_length & 0x7F | records[at + 1] << 7, at + 2
        else:
            value_length, at = _number(records, at)
        stop = at if value_length & 1 else at + (value_length >> 1)
        if length & 1 or not stop < end <= size_bytes:
            raise ValueError(f"record {len(values)} ends inside a field")
        add(records[at:stop])
        at = end
    if at != size_bytes:
        raise ValueError(f"{size_bytes - at} bytes after the last of {count} records")
    return values


def _number(data: bytes, at: int) -> tuple[int, int]:
    """(The number at `at` as it lies there, zigzag; the position behind it.)"""
    value, after = decode_varint(data, at)
    return value << 1 if value >= 0 else (-value << 1) - 1, after
