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
        return [record.value or b"" for record in message_set.read_records(data, position)]
    records = bytes(data[position + batch.HEADER_BYTES : position + header.size_bytes])
    try:
        return _values_in(decompress(header.compression, records, limit_bytes), header.record_count)
    except DecompressedTooLarge as excess:
        raise TooLarge(position, str(excess)) from None
    except (DecompressionFailed, IndexError) as error:
        raise ValueError(f"the records of the batch at {position}: {error}") from error


def _values_in(records: bytes, count: int) -> list[bytes]:
    """Values in unpacked records; small numbers, nearly all, are decoded in place.

    Raises IndexError where the data ends early, ValueError for an impossible length.
    """
    values: list[bytes] = []
    at, size_bytes = 0, len(records)
    for _ in range(count):
        length = records[at]
        if length < 0x80 and not length & 1:
            length, at = length >> 1, at + 1
        else:
            length, at = decode_varint(records, at)
        end = at + length
        at += 1  # attributes
        while records[at] & 0x80:  # the timestamp's delta
            at += 1
        at += 1
        while records[at] & 0x80:  # the offset's
            at += 1
        at += 1
        if records[at] == NULL:  # the key
            at += 1
        else:
            length, at = decode_varint(records, at)
            at += max(length, 0)
        length = records[at]
        if length < 0x80 and not length & 1:
            length, at = length >> 1, at + 1
        else:
            length, at = decode_varint(records, at)
        if not at + max(length, 0) < end <= size_bytes:
            raise ValueError(f"record {len(values)} ends inside a field")
        values.append(records[at : at + length] if length > 0 else b"")
        at = end
    if at != size_bytes:
        raise ValueError(f"{size_bytes - at} bytes after the last of {count} records")
    return values
