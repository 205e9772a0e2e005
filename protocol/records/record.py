"""One record inside a v2 batch, and all of them.

    length varint, attributes i8 (unused), timestampDelta varlong, offsetDelta varint,
    key length varint (-1: none) and bytes, value likewise, number of headers varint,
    each header: key length and bytes (UTF-8), value length (-1: none) and bytes

Deltas are relative to the batch's base timestamp and offset. Source: KIP-98, "Message format".
"""

from protocol.records.errors import BadLength, CountMismatch
from protocol.records.types import BatchHeader, Record, RecordFields
from protocol.records.varint import decode_varint, encode_varint


def encode_record(delta: int, value: bytes | RecordFields) -> bytes:
    """The record at `delta` from the batch's base offset, at its base timestamp."""
    # Attributes 0 and timestamp delta 0 begin every record; "\x01" is the length -1 of an absent key.
    if isinstance(value, bytes):
        body = b"\0\0" + encode_varint(delta) + b"\x01" + encode_varint(len(value)) + value + b"\0"
        return encode_varint(len(body)) + body
    key, content, headers = value
    parts = [b"\0\0", encode_varint(delta), *_sized(key), *_sized(content), encode_varint(len(headers))]
    for name, header in headers:
        parts += (*_sized(name.encode()), *_sized(header))
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def _sized(field: bytes | None) -> tuple[bytes, ...]:
    return (b"\x01",) if field is None else (encode_varint(len(field)), field)


def decode_records(header: BatchHeader, records: bytes, position: int) -> list[Record]:
    """The records of the batch at `position`, exactly as many as its header promises.

    Raises BadLength or CountMismatch, naming the batch's position and the record's number.
    """
    decoded: list[Record] = []
    start = 0
    while len(decoded) < header.record_count:
        if start >= len(records):
            raise CountMismatch(position, f"{header.record_count} records promised, {len(decoded)} there")
        try:
            record, start = _decode_record(header, records, start)
        except (IndexError, ValueError) as error:
            reason = "ends inside a field" if isinstance(error, IndexError) else str(error)
            raise BadLength(position, f"record {len(decoded)}: {reason}") from None
        decoded.append(record)
    if start != len(records):
        left = len(records) - start
        raise CountMismatch(position, f"{left} bytes after the last of {header.record_count} records")
    return decoded


def _decode_record(header: BatchHeader, records: bytes, start: int) -> tuple[Record, int]:
    """The record at `start` and the position after it.

    Raises IndexError or ValueError; the caller distinguishes them.
    """
    length, at = decode_varint(records, start)
    end = at + length
    if length < 0 or end > len(records):
        raise ValueError(f"length {length}, {len(records) - at} bytes left")
    timestamp_delta_ms, at = decode_varint(records, at + 1, bits=64)
    offset_delta, at = decode_varint(records, at)
    key, at = _decode_field(records, at, end)
    value, at = _decode_field(records, at, end)
    header_count, at = decode_varint(records, at)
    if not 0 <= header_count <= end - at:
        raise ValueError(f"{header_count} headers in {end - at} bytes")
    headers = []
    for _ in range(header_count):
        name, at = _decode_field(records, at, end)
        if name is None:
            raise ValueError("a header without a key")
        content, at = _decode_field(records, at, end)
        headers.append((name.decode(errors="replace"), content))  # as Java's Utils.utf8
    if at != end:
        raise ValueError(f"its fields end at byte {at - start}, its length says {end - start}")
    if header.has_log_append_time:
        timestamp_ms = header.max_timestamp_ms
    else:
        timestamp_ms = header.base_timestamp_ms + timestamp_delta_ms
    return Record(header.base_offset + offset_delta, timestamp_ms, key, value, tuple(headers)), end


def _decode_field(records: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    length, at = decode_varint(records, at)
    if length == -1:
        return None, at
    if length < 0 or at + length > end:
        raise ValueError(f"a field of {length} bytes, {end - at} left")
    return records[at : at + length], at + length
