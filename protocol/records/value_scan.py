"""The values of an entry's records, and nothing else of them: what a reader of many batches can afford.

Checksums, keys, timestamps and headers are passed over; who appends the batch looks at those.
"""

from protocol.records import batch, message_set
from protocol.records.compression import DecompressedTooLarge, DecompressionFailed, decompress
from protocol.records.errors import TooLarge
from protocol.records.types import BatchHeader, Data
from protocol.records.varint import decode_varint


def values_of(data: Data, position: int, header: BatchHeader, *, limit_bytes: int) -> list[bytes]:
    """Of the entry at `position`, whose `header` was read; b"" for null. Raises TooLarge (more than `limit_bytes`
    unpacked) and other ValueErrors (it has not the records that its header promises)."""
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
    """Raises IndexError where the data ends early, ValueError where a length is none."""
    values = []
    at = 0
    for _ in range(count):
        length, at = decode_varint(records, at)
        end = at + length
        at += 1  # attributes
        for _ in range(2):  # the deltas of timestamp and offset
            while records[at] & 0x80:
                at += 1
            at += 1
        length, at = decode_varint(records, at)
        if length > 0:
            at += length
        length, at = decode_varint(records, at)
        if not at + max(length, 0) < end <= len(records):
            raise ValueError(f"record {len(values)} ends inside a field")
        values.append(records[at : at + length] if length > 0 else b"")
        at = end
    if at != len(records):
        raise ValueError(f"{len(records) - at} bytes after the last of {count} records")
    return values
