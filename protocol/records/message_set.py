"""Message sets: records on the wire and on disk before 0.11, in message formats 0 and 1.

Each message is an entry of the log of its own (`message`). With a codec in its attributes a message is a
*wrapper*: its value is a compressed message set. A wrapper's offset is that of its last inner message; inner
offsets are absolute in format 0 and count from 0 in format 1 (KIP-31), so that a leader of format 1 need not
compress again.
"""

import struct
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

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

_pack_offset = struct.Struct(">q").pack


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
        inner = _unpack_wrapper(message, position)
        last_offset, count = _last_offset(message, inner), len(inner)
        base_offset = inner[0].offset + (last_offset - inner[-1].offset)
        if not attributes & LOG_APPEND_TIME:
            base_timestamp_ms = inner[0].timestamp_ms
    return BatchHeader(
        base_offset,
        last_offset,
        size_bytes,
        EPOCH_UNKNOWN,
        magic,
        crc,
        CODECS[attributes & 0x07],
        base_timestamp_ms,
        timestamp_ms,
        _NO_PRODUCER,
        _NO_PRODUCER_EPOCH,
        NO_SEQUENCE,
        NO_SEQUENCE,
        count,
        attributes,
    )


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
    inner = _unpack_wrapper(message, position, verify=True)
    start = _last_offset(message, inner) - inner[-1].offset
    # LogAppendTime is set on the wrapper alone.
    override = bool(message.attributes & LOG_APPEND_TIME)
    return [
        Record(each.offset + start, message.timestamp_ms if override else each.timestamp_ms, each.key, each.value)
        for each in inner
    ]


def place_message(data: Data, position: int, header: BatchHeader, base_offset: Offset) -> tuple[bytes, BatchHeader]:
    """The message at `position`, which has no codec, placed at `base_offset`; its new header.

    As `place_message_set` for this message alone. Raises as `read_header`.
    """
    end = position + read_message(data, position).size_bytes
    placed = b"".join((_pack_offset(base_offset), data[position + 8 : end]))
    return placed, replace(header, base_offset=base_offset, last_offset=base_offset)


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
        in_place = _place_wrapper(messages[0][1], base_offset)
        if in_place is not None:
            return in_place
    records = [record for position, _ in messages for record in read_records(data, position)]
    fields = [Fields(record.key, record.value, record.timestamp_ms) for record in records]
    return _encode(fields, magic, base_offset, codecs[-1])


def _place_wrapper(wrapper: Message, base_offset: Offset) -> bytes | None:
    """The wrapper of format 1 at its offset, with the largest inner timestamp; None: rebuild it."""
    inner = _unpack_wrapper(wrapper, 0, verify=True)
    if [each.offset for each in inner] != list(range(len(inner))):
        return None
    timestamp_ms = max(each.timestamp_ms for each in inner)
    fields = Fields(wrapper.key, wrapper.value, timestamp_ms)
    return encode_message(base_offset + len(inner) - 1, fields, 1, wrapper.attributes & 0x07)


def _last_offset(wrapper: Message, inner: list[Message]) -> Offset:
    """The last offset in a wrapper. Format 0's inner offsets are absolute."""
    return wrapper.offset if wrapper.magic else inner[-1].offset


def _unpack_wrapper(wrapper: Message, position: int, *, verify: bool = False) -> list[Message]:
    """The inner messages, offsets as stored. Errors inside carry the wrapper's `position`."""
    if wrapper.value is None:
        raise BadCompression(position, "a compressed message without value")
    inner: list[Message] = []
    try:
        packed = wrapper.value
        if wrapper.codec == "lz4" and wrapper.magic == 0:
            packed = legacy_lz4(packed, correct=True)
        unpacked = decompress(wrapper.codec, packed)
    except DecompressionFailed as failure:
        raise BadCompression(position, str(failure)) from None
    except DecompressedTooLarge as excess:
        raise TooLarge(position, str(excess)) from None
    at = 0
    while at < len(unpacked):
        try:
            message = read_message(unpacked, at)
        except TruncatedRecord as end:
            raise BadLength(position, f"inner message {len(inner)}: {end.reason}") from None
        except RecordsError as error:
            raise type(error)(position, f"inner message {len(inner)}: {error.reason}") from None
        if message.codec != "none":
            raise BadCompression(position, f"inner message {len(inner)} is compressed again")
        if message.magic != wrapper.magic:
            reason = f"inner message {len(inner)} has magic {message.magic}, its wrapper {wrapper.magic}"
            raise UnknownMagic(position, reason)
        if verify and crc_at(unpacked, at, message.size_bytes) != message.crc:
            raise BadCrc(position, f"inner message {len(inner)}: its checksum is not that stored")
        inner.append(message)
        at += message.size_bytes
    if not inner:
        raise CountMismatch(position, "a compressed message set without messages")
    return inner
