"""Kafka's record batch, magic 2, byte for byte (KIP-98; in use since 0.11).

    0  baseOffset i64          12  partitionLeaderEpoch i32    27  baseTimestamp i64    51  producerEpoch i16
    8  batchLength i32         16  magic i8 = 2                35  maxTimestamp i64     53  baseSequence i32
       (bytes after itself)    17  crc u32 (CRC-32C of the     43  producerId i64       57  count i32
                                   bytes from 21 to the end)                            61  records
                               21  attributes i16
                               23  lastOffsetDelta i32

The checksum leaves out the first 21 bytes so that a leader can set offset and epoch on append (`place_batch`)
without touching the rest. With a codec in the attributes only the records are compressed.
"""

import struct
from collections.abc import Sequence
from typing import Final

from google_crc32c import value as crc32c

from protocol.ids import EPOCH_UNKNOWN, FIRST_OFFSET, LeaderEpoch, Offset
from protocol.records.compression import (
    CODEC_IDS,
    CODECS,
    Compression,
    DecompressedTooLarge,
    DecompressionFailed,
    compress,
    decompress,
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
from protocol.records.record import decode_records, encode_record
from protocol.records.types import (
    BATCH_BYTES_MAX,
    CONTROL,
    NO_SEQUENCE,
    SEQUENCE_END,
    TRANSACTIONAL,
    BatchHeader,
    Data,
    HeaderIterator,
    Record,
    RecordFields,
    Values,
)

MAGIC: Final = 2
HEADER_BYTES: Final = 61

_MAGIC_AT = 16
_CRC_AT = 17
_CRC_COVERS_FROM = 21
_LENGTH_COVERS_FROM = 12
_LENGTH_MIN = HEADER_BYTES - _LENGTH_COVERS_FROM
_CODECS_END = len(CODECS)

_unpack_header = struct.Struct(">qiibIhiqqqhii").unpack_from
_pack_head = struct.Struct(">qiibI").pack
_pack_tail = struct.Struct(">hiqqqhii").pack
_unpack_length_magic = struct.Struct(">8xi4xb").unpack_from
_unpack_placement = struct.Struct(">8xi4xb6xi30xi").unpack_from
_pack_offset = struct.Struct(">q").pack
_pack_epoch = struct.Struct(">i").pack
_unpack_crc = struct.Struct(">I").unpack_from


def encode_batch(
    values: Values,
    *,
    timestamp_ms: int,
    base_offset: Offset = FIRST_OFFSET,
    leader_epoch: LeaderEpoch = EPOCH_UNKNOWN,
    compression: Compression = "none",
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_control: bool = False,
    is_transactional: bool = False,
) -> bytes:
    """A batch of `values`, each a value or (key, value, headers), all with one `timestamp_ms`.

    `is_control`: its records are Kafka's own, no user's. `is_transactional`: it is part of a transaction.
    """
    assert values, "a producer sends no empty batch"
    fields: Sequence[bytes | RecordFields] = values
    records = b"".join([encode_record(delta, value) for delta, value in enumerate(fields)])
    if compression != "none":
        records = compress(compression, records)
    count = len(values)
    covered = (
        _pack_tail(
            CODEC_IDS[compression] | (CONTROL if is_control else 0) | (TRANSACTIONAL if is_transactional else 0),
            count - 1,
            timestamp_ms,
            timestamp_ms,
            producer_id,
            producer_epoch,
            base_sequence,
            count,
        )
        + records
    )
    length = len(covered) + _CRC_COVERS_FROM - _LENGTH_COVERS_FROM
    return _pack_head(base_offset, length, leader_epoch, MAGIC, crc32c(covered)) + covered


def place_batch(data: Data, base_offset: Offset, leader_epoch: LeaderEpoch) -> bytes:
    """`data`, one whole batch, with the leader's offset and epoch set; the crc stays right.

    Raises CountMismatch unless the batch has as many offsets as records, as a producer's must (LogValidator); otherwise
    as `read_header`.
    """
    try:
        length, magic, last_delta, count = _unpack_placement(data)
    except struct.error:
        raise diagnose(data, 0) from None
    if magic != MAGIC or length + _LENGTH_COVERS_FROM != len(data):
        raise _not_one_batch(data)
    if count != last_delta + 1 or count < 1:
        raise CountMismatch(0, f"{count} records at {last_delta + 1} offsets")
    return b"".join((_pack_offset(base_offset), data[8:12], _pack_epoch(leader_epoch), data[16:]))


def _not_one_batch(data: Data) -> RecordsError:
    try:
        size_bytes = read_header(data).size_bytes
    except RecordsError as error:
        return error
    return BadLength(size_bytes, f"{len(data) - size_bytes} bytes after the one batch expected")


def read_header(data: Data, position: int = 0) -> BatchHeader:
    """The header of the whole batch at `position`; its checksum is not verified.

    Raises TruncatedRecord or a CorruptRecord, naming `position`.
    """
    try:
        (
            base_offset,
            length,
            leader_epoch,
            magic,
            crc,
            attributes,
            last_delta,
            base_timestamp_ms,
            max_timestamp_ms,
            producer_id,
            producer_epoch,
            base_sequence,
            count,
        ) = _unpack_header(data, position)
    except struct.error:
        raise diagnose(data, position) from None
    codec = attributes & 0x07
    if (
        magic != MAGIC
        or not _LENGTH_MIN <= length <= len(data) - position - _LENGTH_COVERS_FROM
        or length >= BATCH_BYTES_MAX
        or codec >= _CODECS_END
        or last_delta < 0
        or count < 0
    ):
        raise diagnose(data, position)
    has_sequence = base_sequence != NO_SEQUENCE
    last_sequence = (base_sequence + last_delta) % SEQUENCE_END if has_sequence else NO_SEQUENCE
    return BatchHeader(
        base_offset,
        base_offset + last_delta,
        length + _LENGTH_COVERS_FROM,
        leader_epoch,
        magic,
        crc,
        CODECS[codec],
        base_timestamp_ms,
        max_timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        last_sequence,
        count,
        attributes,
    )


def diagnose(data: Data, position: int) -> RecordsError:
    """Reason why the bytes at `position` are no whole batch header: slow half of `read_header`."""
    assert position >= 0
    left = len(data) - position
    if left < _LENGTH_COVERS_FROM:
        return TruncatedRecord(position, f"{left} bytes left, offset and length take {_LENGTH_COVERS_FROM}")
    length = int.from_bytes(data[position + 8 : position + 12], "big", signed=True)
    if length < _LENGTH_MIN:
        return BadLength(position, f"batch length {length}, the least is {_LENGTH_MIN}")
    if length >= BATCH_BYTES_MAX:
        return TooLarge(position, f"batch length {length}, the most is {BATCH_BYTES_MAX}")
    if left > _MAGIC_AT and data[position + _MAGIC_AT] != MAGIC:
        return UnknownMagic(position, f"magic {data[position + _MAGIC_AT]}, a batch has {MAGIC}")
    if length + _LENGTH_COVERS_FROM > left:
        return TruncatedRecord(position, f"a batch of {length + _LENGTH_COVERS_FROM} bytes, {left} left")
    attributes, last_delta = struct.unpack_from(">hi", data, position + _CRC_COVERS_FROM)
    if attributes & 0x07 >= _CODECS_END:
        return BadCompression(position, f"codec {attributes & 0x07}, known are 0 to {_CODECS_END - 1}")
    if last_delta < 0:
        return BadLength(position, f"last offset delta {last_delta} is negative")
    (count,) = struct.unpack_from(">i", data, position + HEADER_BYTES - 4)
    assert count < 0, "a header that can be read was diagnosed"
    return CountMismatch(position, f"record count {count} is negative")


def check_crc(data: Data, position: int = 0) -> bool:
    """Whether the checksum is right. Raises as `read_header` without a whole batch there."""
    try:
        length, magic = _unpack_length_magic(data, position)
    except struct.error:
        raise diagnose(data, position) from None
    size_bytes = length + _LENGTH_COVERS_FROM
    if magic != MAGIC or length < _LENGTH_MIN or position + size_bytes > len(data):
        raise diagnose(data, position)
    matches: bool = crc_at(data, position, size_bytes) == _unpack_crc(data, position + _CRC_AT)[0]
    return matches


def crc_at(data: Data, position: int, size_bytes: int) -> int:
    """The checksum of the batch of that size at `position`, as it should be."""
    covered = data[position + _CRC_COVERS_FROM : position + size_bytes]
    checksum: int = crc32c(covered if type(covered) is bytes else bytes(covered))
    return checksum


def iter_headers(data: Data) -> HeaderIterator:
    """Positions and headers of the batches in `data`; see `tail`, `end` for an incomplete rest."""
    return HeaderIterator(data, read_header)


def read_records(data: Data, position: int = 0, header: BatchHeader | None = None) -> list[Record]:
    """The records of the batch at `position`, at their absolute offsets, its checksum verified.

    `header`: of that batch, if it was read before. Raises TruncatedRecord or a CorruptRecord: BadCrc, BadLength,
    CountMismatch, BadCompression, TooLarge.
    """
    if header is None:
        header = read_header(data, position)
    if crc_at(data, position, header.size_bytes) != header.crc:
        raise BadCrc(position, f"the stored checksum {header.crc:#010x} is not that of the batch")
    records = bytes(data[position + HEADER_BYTES : position + header.size_bytes])
    try:
        records = decompress(header.compression, records)
    except DecompressionFailed as error:
        raise BadCompression(position, str(error)) from None
    except DecompressedTooLarge as excess:
        raise TooLarge(position, str(excess)) from None
    return decode_records(header, records, position)
