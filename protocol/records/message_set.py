"""Message sets: records on the wire and on disk before 0.11, in message formats 0 and 1.

Each message is an entry of the log of its own (`message`). With a codec in its attributes a message is a
*wrapper*: its value is a compressed message set. A wrapper's offset is that of its last inner message; inner
offsets are absolute in format 0 and count from 0 in format 1 (KIP-31), so that a leader of format 1 need not
compress again.
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple, NoReturn
from zlib import crc32

from protocol.ids import EPOCH_UNKNOWN, FIRST_OFFSET, Offset
from protocol.records.compression import (
    CODEC_IDS,
    CODECS,
    Compression,
    DecompressedTooLarge,
    DecompressionFailed,
    compress,
    decompress,
    legacy_lz4,
)
from protocol.records.errors import (
    BadCompression,
    BadCrc,
    BadLength,
    CountMismatch,
    RecordsError,
    TooLarge,
    TruncatedRecord,
    UnknownMagic,
)
from protocol.records.message import (
    CODEC_IDS_END,
    LOG_APPEND_TIME,
    Fields,
    Magic,
    Message,
    crc_at,
    encode_message,
    read_envelope,
    read_message,
)
from protocol.records.types import (
    BATCH_BYTES_MAX,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    Data,
    HeaderIterator,
    Record,
    RecordFields,
    Values,
)

_NO_PRODUCER: Final = -1
_NO_PRODUCER_EPOCH: Final = -1

_OFFSET_AND_SIZE_BYTES: Final = 12
_CRC_COVERS_FROM: Final = 16
_INNER: Final = {
    0: (struct.Struct(">qiIbb0si").unpack_from, 26, 22),
    1: (struct.Struct(">qiIbbqi").unpack_from, 34, 30),
}
"""{magic: (unpack, minimum bytes of a message, position of its key)}

`unpack`: offset, size, checksum, magic, attributes, timestamp or nothing, length of the key.
"""

_pack_offset = struct.Struct(">q").pack
_pack_offset_into = struct.Struct(">q").pack_into


def encode_message_set(
    values: Values,
    *,
    timestamp_ms: int,
    magic: Magic = 1,
    base_offset: Offset = FIRST_OFFSET,
    compression: Compression = "none",
) -> bytes:
    """A message set of `values`, each a value or (key, value, ()); with a codec one wrapper.

    Format 0 has no timestamps and neither has headers.
    """
    assert values, "a producer sends no empty message set"
    fields: Sequence[bytes | RecordFields] = values
    timestamp_ms = timestamp_ms if magic else NO_TIMESTAMP
    messages = []
    for field in fields:
        key, value, headers = (None, field, ()) if isinstance(field, bytes) else field
        assert not headers, "record headers need batches of magic 2"
        messages.append(Fields(key, value, timestamp_ms))
    return _encode(messages, magic, base_offset, compression)


def _encode(messages: list[Fields], magic: Magic, base_offset: int, codec: Compression) -> bytes:
    if codec == "none":
        return b"".join(
            [encode_message(offset, fields, magic, 0) for offset, fields in enumerate(messages, start=base_offset)]
        )
    assert CODEC_IDS[codec] < CODEC_IDS_END, f"{codec} needs batches of magic 2"
    inner_base = 0 if magic else base_offset
    inner = b"".join(
        [encode_message(offset, fields, magic, 0) for offset, fields in enumerate(messages, start=inner_base)]
    )
    packed = compress(codec, inner)
    if codec == "lz4" and magic == 0:
        packed = legacy_lz4(packed, correct=False)
    last_offset = base_offset + len(messages) - 1
    wrapper = Fields(None, packed, max(fields.timestamp_ms for fields in messages))
    return encode_message(last_offset, wrapper, magic, CODEC_IDS[codec])


def read_header(data: Data, position: int = 0) -> BatchHeader:
    """The whole entry at `position` as a header; its checksum is not verified.

    A wrapper is unpacked for its first offset and record count. A wrapper without a broker's offset may show a negative
    `base_offset`. Raises TruncatedRecord or a CorruptRecord.
    """
    offset, size_bytes, crc, magic, attributes, timestamp_ms = read_envelope(data, position)
    base_offset, last_offset, count, base_timestamp_ms = offset, offset, 1, timestamp_ms
    if attributes & 0x07:
        message = read_message(data, position)
        inner = _scan_wrapper(message, position)
        count = inner.messages
        last_offset = message.offset if magic else Offset(inner.last_offset)
        base_offset = Offset(inner.first_offset + (last_offset - inner.last_offset))
        if not attributes & LOG_APPEND_TIME:
            base_timestamp_ms = inner.first_timestamp_ms
    return _header(
        base_offset, last_offset, size_bytes, crc, magic, attributes, base_timestamp_ms, timestamp_ms, count
    )


def _header(
    base_offset: Offset,
    last_offset: Offset,
    size_bytes: int,
    crc: int,
    magic: int,
    attributes: int,
    base_timestamp_ms: int,
    max_timestamp_ms: int,
    count: int,
) -> BatchHeader:
    return BatchHeader(
        base_offset, last_offset, size_bytes, EPOCH_UNKNOWN, magic, crc, CODECS[attributes & 0x07], base_timestamp_ms,
        max_timestamp_ms, _NO_PRODUCER, _NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_SEQUENCE, count, attributes,
    )  # fmt: skip


def iter_headers(data: Data) -> HeaderIterator:
    """Positions and headers of the entries in `data`; see `tail`, `end` for an incomplete rest."""
    return HeaderIterator(data, read_header)


def check_crc(data: Data, position: int = 0) -> bool:
    """Whether the entry's own checksum is right (a wrapper's, not its inner messages').

    Raises as `read_header` when there is no whole entry at `position`.
    """
    _, size_bytes, crc, _, _, _ = read_envelope(data, position)
    return crc_at(data, position, size_bytes) == crc


def read_records(data: Data, position: int = 0) -> list[Record]:
    """Records of the entry at `position` or of its wrapper, at absolute offsets, verified."""
    message = read_message(data, position)
    if not check_crc(data, position):
        raise BadCrc(position, f"the stored checksum {message.crc:#010x} is not that of the message")
    if message.codec == "none":
        return [Record(message.offset, message.timestamp_ms, message.key, message.value)]
    inner = _unpack_wrapper(message, position)
    start = _last_offset(message, inner) - inner[-1].offset
    # LogAppendTime is set on the wrapper alone.
    override = bool(message.attributes & LOG_APPEND_TIME)
    return [
        Record(each.offset + start, message.timestamp_ms if override else each.timestamp_ms, each.key, each.value)
        for each in inner
    ]


def values_of(data: Data, position: int = 0) -> list[bytes]:
    """Values of the records of the entry at `position`, b"" for null; verifies no checksums.

    Raises as `read_header`.
    """
    message = read_message(data, position)
    if message.codec == "none":
        return [message.value or b""]
    values: list[bytes] = []
    _scan_wrapper(message, position, values=values)
    return values


def place_plain(
    data: Data, position: int, base_offset: Offset, max_bytes: int = BATCH_BYTES_MAX
) -> tuple[bytes, list[BatchHeader]]:
    """(Uncompressed messages from `position` on, as `place_message_set` does; their headers).

    It ends before the first invalid or compressed message, or one of more than `max_bytes`; `read_header` there
    reports the error. A set may have ten thousand messages.
    """
    if position + _CRC_COVERS_FROM >= len(data) or data[position + _CRC_COVERS_FROM] not in _INNER:
        return b"", []
    magic, end = data[position + _CRC_COVERS_FROM], len(data)
    unpack, least_bytes, key_at = _INNER[magic]
    headers: list[BatchHeader] = []
    at, offset = position, base_offset
    while end - at >= least_bytes:
        _, size, crc, own_magic, attributes, timestamp_ms, key_bytes = unpack(data, at)
        after = at + _OFFSET_AND_SIZE_BYTES + size
        value_at = at + key_at + (key_bytes if key_bytes > 0 else 0)
        value_bytes = int.from_bytes(data[value_at : value_at + 4], "big", signed=True)
        if (
            own_magic != magic
            or attributes & 0x07
            or after > end
            or after - at > max_bytes
            or key_bytes < -1
            or value_bytes < -1
            or value_at + 4 + (value_bytes if value_bytes > 0 else 0) != after
            or crc32(data[at + _CRC_COVERS_FROM : after]) != crc
        ):
            break
        if not magic:
            timestamp_ms = NO_TIMESTAMP
        headers.append(
            BatchHeader(
                offset, offset, after - at, EPOCH_UNKNOWN, magic, crc, "none", timestamp_ms, timestamp_ms, _NO_PRODUCER,
                _NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_SEQUENCE, 1, attributes,
            )
        )  # fmt: skip
        offset, at = Offset(offset + 1), after
    placed = bytearray(data[position:at])
    at = 0
    for header in headers:
        _pack_offset_into(placed, at, header.base_offset)
        at += header.size_bytes
    return bytes(placed), headers


def place_wrapper(data: Data, position: int, header: BatchHeader, base_offset: Offset) -> tuple[bytes, BatchHeader]:
    """(The wrapper at `position`, as `place_message_set` places it alone; its new header).

    `header`: its present header. Raises as `read_header`.
    """
    message = read_message(data, position)
    inner = _scan_wrapper(message, position, verify=True)
    in_place = _place_wrapper(message, inner, base_offset)
    if in_place is None:
        placed = place_message_set(data[position : position + header.size_bytes], base_offset)
        return placed, read_header(placed)
    size_bytes, crc, attributes = len(in_place), crc_at(in_place, 0, len(in_place)), message.attributes & 0x07
    last_offset, newest_ms = Offset(base_offset + inner.messages - 1), inner.max_timestamp_ms
    return in_place, _header(
        base_offset, last_offset, size_bytes, crc, 1, attributes, inner.first_timestamp_ms, newest_ms, inner.messages
    )


def place_message_set(data: Data, base_offset: Offset) -> bytes:
    """The messages in `data` with the leader's offsets from `base_offset` on.

    Messages without codec get theirs in place. A lone wrapper of format 1 whose inner offsets count from 0 gets its own
    offset and the largest inner timestamp, no more. Other compressed messages (in format 0 always) are unpacked and
    rewritten as one wrapper with the last codec used, as brokers of that time did.
    """
    messages: list[tuple[int, Message]] = []
    position = 0
    while position < len(data):
        message = read_message(data, position)
        messages.append((position, message))
        position += message.size_bytes
    if not messages:
        raise BadLength(0, "a message set without messages")
    magic = messages[0][1].magic
    for position, message in messages:
        if message.magic != magic:
            raise UnknownMagic(position, f"magic {message.magic} in a message set of magic {magic}")
    codecs = [message.codec for _, message in messages if message.codec != "none"]
    if not codecs:
        placed = bytearray(data)
        for offset, (position, _) in enumerate(messages, start=base_offset):
            placed[position : position + 8] = _pack_offset(offset)
        return bytes(placed)
    if magic == 1 and len(messages) == 1:
        wrapper = messages[0][1]
        in_place = _place_wrapper(wrapper, _scan_wrapper(wrapper, 0, verify=True), base_offset)
        if in_place is not None:
            return in_place
    records = [record for position, _ in messages for record in read_records(data, position)]
    fields = [Fields(record.key, record.value, record.timestamp_ms) for record in records]
    return _encode(fields, magic, base_offset, codecs[-1])


def _place_wrapper(wrapper: Message, inner: "_Inner", base_offset: Offset) -> bytes | None:
    """The wrapper (format 1) with new offset and largest inner timestamp; None: rebuild it."""
    if not wrapper.magic or not inner.counts_from_zero:
        return None
    fields = Fields(wrapper.key, wrapper.value, inner.max_timestamp_ms)
    return encode_message(base_offset + inner.messages - 1, fields, 1, wrapper.attributes & 0x07)


def _last_offset(wrapper: Message, inner: list[Message]) -> Offset:
    """The last offset in a wrapper. Format 0's inner offsets are absolute."""
    return wrapper.offset if wrapper.magic else inner[-1].offset


class _Inner(NamedTuple):
    """Summary of a wrapper's messages. `counts_from_zero`: their offsets are 0, 1, 2 and so on."""

    messages: int
    first_offset: int
    last_offset: int
    first_timestamp_ms: int
    max_timestamp_ms: int
    counts_from_zero: bool


def _scan_wrapper(
    wrapper: Message, position: int, *, verify: bool = False, values: list[bytes] | None = None
) -> _Inner:
    """Summarize the inner messages; append their values to `values`, b"" for null.

    It makes no object per message, since a wrapper may hold ten thousand. Raises as `_unpack_wrapper`.
    """
    unpacked = _unpacked(wrapper, position)
    magic, end = wrapper.magic, len(unpacked)
    unpack, least_bytes, key_at = _INNER[magic]
    count = at = 0
    first_offset = last_offset = first_timestamp_ms = max_timestamp_ms = NO_TIMESTAMP
    counts = True
    while at < end:
        if end - at < least_bytes:
            _refuse_inner(wrapper, unpacked, at, count, position)
        offset, size, crc, own_magic, attributes, timestamp_ms, key_bytes = unpack(unpacked, at)
        value_at = at + key_at + (key_bytes if key_bytes > 0 else 0)
        after = at + _OFFSET_AND_SIZE_BYTES + size
        value_bytes = int.from_bytes(unpacked[value_at : value_at + 4], "big", signed=True)
        if (
            own_magic != magic
            or attributes & 0x07
            or after > end
            or key_bytes < -1
            or value_bytes < -1
            or value_at + 4 + (value_bytes if value_bytes > 0 else 0) != after
        ):
            _refuse_inner(wrapper, unpacked, at, count, position)
        if verify and crc32(unpacked[at + _CRC_COVERS_FROM : after]) != crc:
            raise BadCrc(position, f"inner message {count}: its checksum is not that stored")
        if values is not None:
            values.append(unpacked[value_at + 4 : after] if value_bytes > 0 else b"")
        if not magic:
            timestamp_ms = NO_TIMESTAMP
        if not count:
            first_offset, first_timestamp_ms = offset, timestamp_ms
        if timestamp_ms > max_timestamp_ms or not count:
            max_timestamp_ms = timestamp_ms
        counts = counts and offset == count
        last_offset, count, at = offset, count + 1, after
    if not count:
        raise CountMismatch(position, "a compressed message set without messages")
    return _Inner(count, first_offset, last_offset, first_timestamp_ms, max_timestamp_ms, counts)


def _refuse_inner(wrapper: Message, unpacked: bytes, at: int, number: int, position: int) -> NoReturn:
    message = _check_inner(wrapper, unpacked, at, number, position)
    raise AssertionError(f"a sound inner message was refused: {message}")


def _unpack_wrapper(wrapper: Message, position: int) -> list[Message]:
    """The inner messages, offsets as stored, checksums verified.

    Errors inside name the wrapper's `position`.
    """
    inner: list[Message] = []
    unpacked = _unpacked(wrapper, position)
    at = 0
    while at < len(unpacked):
        message = _check_inner(wrapper, unpacked, at, len(inner), position)
        if crc_at(unpacked, at, message.size_bytes) != message.crc:
            raise BadCrc(position, f"inner message {len(inner)}: its checksum is not that stored")
        inner.append(message)
        at += message.size_bytes
    if not inner:
        raise CountMismatch(position, "a compressed message set without messages")
    return inner


def _unpacked(wrapper: Message, position: int) -> bytes:
    """Raises BadCompression, TooLarge."""
    if wrapper.value is None:
        raise BadCompression(position, "a compressed message without value")
    packed = wrapper.value
    try:
        if wrapper.codec == "lz4" and wrapper.magic == 0:
            packed = legacy_lz4(packed, correct=True)
        return decompress(wrapper.codec, packed)
    except DecompressionFailed as failure:
        raise BadCompression(position, str(failure)) from None
    except DecompressedTooLarge as excess:
        raise TooLarge(position, str(excess)) from None


def _check_inner(wrapper: Message, unpacked: bytes, at: int, number: int, position: int) -> Message:
    """The inner message at `at`, the `number`-th. Raises a RecordsError that names `position`."""
    try:
        message = read_message(unpacked, at)
    except TruncatedRecord as end:
        raise BadLength(position, f"inner message {number}: {end.reason}") from None
    except RecordsError as error:
        raise type(error)(position, f"inner message {number}: {error.reason}") from None
    if message.codec != "none":
        raise BadCompression(position, f"inner message {number} is compressed again")
    if message.magic != wrapper.magic:
        reason = f"inner message {number} has magic {message.magic}, its wrapper {wrapper.magic}"
        raise UnknownMagic(position, reason)
    return message
