"""Validation of produced records (Kafka's LogValidator), before the machine appends them.

ProduceRequest.validateRecords refuses a partition by the request's version: more than one batch, none, a wrong magic.
LogValidator and DefaultRecordBatch then read each record of the batch, unpacked. The machine checks size and checksum
in between, in Kafka's order, so the verdict travels with the records (`ProducePartition.fault`).

Work is bounded by `Allowance`: what the records of one request may unpack to, and how many there may be.
"""

import struct
from typing import Final, NamedTuple

from protocol.errors import ErrorCode
from protocol.framing import ProtocolError
from protocol.records import batch, message
from protocol.records.compression import (
    CODECS,
    DecompressedTooLarge,
    DecompressionFailed,
    decompress,
    legacy_lz4,
)
from protocol.records.errors import RecordsError
from protocol.records.varint import decode_varint

MIB: Final = 1 << 20
RECORDS_PER_MIB: Final = 80_000
RECORDS_MAX: Final = 400_000
UNPACKED_BYTES_PER_MIB: Final = 12 * MIB
UNPACKED_BYTES_MAX: Final = 64 * MIB
MESSAGES_MAX: Final = 10_000
"""Maximum messages of formats 0 and 1 in one request: each is a log entry by itself.

librdkafka's default batch has as many.
"""
WRAPPERS_ARE_UNPACKED: Final = 4
"""Times the broker unpacks a wrapper; divides the bytes that wrappers may unpack to."""
REWRITTEN_BYTES_MAX: Final = MIB // 4
"""Maximum bytes in wrappers whose inner offsets do not count from 0, in one request.

The leader repacks these wrappers, as Kafka does. The clients of that time count from 0.
"""
WRAPPER_COSTS: Final = 12
"""Cost of a wrapper itself, in messages. A client of that time sends one per partition."""
REWRITTEN_COSTS: Final = 4
"""Cost of a repacked message, in messages."""
FIRST_WITH_BATCHES: Final = 3
"""Version of PRODUCE from which on a partition has exactly one batch, of magic 2."""
FIRST_WITH_ZSTD: Final = 7
"""First version of PRODUCE with zstd (2.1).

Brokers with this version refuse a partition where older ones close the connection.
"""

_LENGTH_COVERS_FROM: Final = 12
_MAGIC_AT: Final = 16
_LEAST_BYTES: Final = 14
"""Records.LOG_OVERHEAD and the smallest entry behind it (LegacyRecord.RECORD_OVERHEAD_V0)."""
_ZSTD: Final = 4
_CODEC_MASK: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_ATTRIBUTES_AT: Final = 22
"""Position of the lower byte of the attributes."""
_NULL: Final = 1
"""The length -1, zigzag.

Kafka takes every negative length for null. No client writes another, and consumers may fail on one.
"""
_fields = struct.Struct(">q13xhi16xqhii").unpack_from
"""Base offset, attributes, last offset delta, producer id, its epoch, base sequence, record
count."""
_offset_and_size = struct.Struct(">qi").unpack_from
_NEWEST_MAGIC: Final = bytes((batch.MAGIC,))


class Verdict(NamedTuple):
    """`fault` NONE: valid. `unread`: Kafka refuses it before it checks size and checksum."""

    fault: ErrorCode
    unread: bool = False


SOUND: Final = Verdict(ErrorCode.NONE)


class Allowance:
    """Remaining budget for the records of one request of `size_bytes`."""

    __slots__ = ("messages", "records", "rewritten_bytes", "unpacked_bytes")

    def __init__(self, size_bytes: int) -> None:
        mibs = 1 + size_bytes // MIB
        self.records = min(RECORDS_MAX, RECORDS_PER_MIB * mibs)
        self.unpacked_bytes = min(UNPACKED_BYTES_MAX, UNPACKED_BYTES_PER_MIB * mibs)
        self.messages = MESSAGES_MAX
        self.rewritten_bytes = REWRITTEN_BYTES_MAX


class _Invalid(Exception):
    """The record at hand contradicts itself or its batch: Kafka's InvalidRecordException."""


class _Corrupt(Exception):
    """Malformed entry header: CorruptRecordException of ByteBufferLogInputStream."""


def validate(records: bytes, version: int, newest: int, allowance: Allowance) -> Verdict:
    """Validate one partition's records in a Produce of `version`.

    `newest`: the broker's newest version of Produce. Raises ProtocolError where Kafka closes the connection.
    """
    if version < FIRST_WITH_BATCHES:
        return _messages(records, allowance)
    try:
        fault, size_bytes = _by_version(records, version)
    except _Corrupt:
        fault, size_bytes = ErrorCode.CORRUPT_MESSAGE, 0
    if fault:
        if newest < FIRST_WITH_ZSTD:
            raise ProtocolError(f"Produce version {version}: a partition must have exactly one batch of magic 2")
        return Verdict(fault, unread=True)
    try:
        return _batch(records, size_bytes, newest, allowance)
    except _Invalid:
        return Verdict(ErrorCode.INVALID_RECORD)


def _by_version(records: bytes, version: int) -> tuple[ErrorCode, int]:
    """(Error of ProduceRequest.validateRecords, size of the first batch)."""
    size_bytes = _entry_bytes(records, 0)
    if not size_bytes or records[_MAGIC_AT] != batch.MAGIC:
        return ErrorCode.INVALID_RECORD, size_bytes
    is_zstd = size_bytes >= batch.HEADER_BYTES and records[_ATTRIBUTES_AT] & _CODEC_MASK == _ZSTD
    if is_zstd and version < FIRST_WITH_ZSTD:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, size_bytes
    has_second = size_bytes < len(records) and _entry_bytes(records, size_bytes)
    return ErrorCode.INVALID_RECORD if has_second else ErrorCode.NONE, size_bytes


def _entry_bytes(records: bytes, position: int) -> int:
    """Size of the whole entry at `position`; 0: there is none. Raises _Corrupt."""
    left = len(records) - position
    if left < _LENGTH_COVERS_FROM:
        return 0
    size = int.from_bytes(records[position + 8 : position + _LENGTH_COVERS_FROM], "big", signed=True)
    if size < _LEAST_BYTES or (left > _MAGIC_AT and records[position + _MAGIC_AT] > batch.MAGIC):
        raise _Corrupt
    size_bytes = _LENGTH_COVERS_FROM + size
    return size_bytes if size_bytes <= left else 0


def magic_of(records: bytes) -> int | None:
    """Magic of the first entry; None: the records are too short for one."""
    return records[_MAGIC_AT] if len(records) > _MAGIC_AT else None


def is_transactional(records: bytes) -> bool:
    """The first batch belongs to a transaction (RequestUtils.hasTransactionalRecords)."""
    return len(records) >= batch.HEADER_BYTES and bool(records[_ATTRIBUTES_AT] & _TRANSACTIONAL)


# --- one batch of magic 2 ---


def _batch(records: bytes, size_bytes: int, newest: int, allowance: Allowance) -> Verdict:
    start, end = batch.HEADER_BYTES, size_bytes
    if end < start:
        return SOUND  # the machine reports the error
    base_offset, attributes, last_delta, producer_id, _epoch, base_sequence, count = _fields(records)
    codec = attributes & _CODEC_MASK
    if codec >= len(CODECS) or (codec == _ZSTD and newest < FIRST_WITH_ZSTD):
        return Verdict(ErrorCode.UNKNOWN_SERVER_ERROR)  # CompressionType.forId: an IllegalArgumentException
    if (
        base_offset != 0
        or last_delta < 0
        or count <= 0
        or count != last_delta + 1
        or attributes & _CONTROL
        or (producer_id >= 0 and base_sequence < 0)
    ):
        return Verdict(ErrorCode.INVALID_RECORD)
    if count > allowance.records:
        return Verdict(ErrorCode.MESSAGE_TOO_LARGE)
    allowance.records -= count
    if codec:
        try:
            records = decompress(CODECS[codec], records[start:end], allowance.unpacked_bytes)
        except DecompressedTooLarge:
            return Verdict(ErrorCode.MESSAGE_TOO_LARGE)
        except DecompressionFailed:
            return Verdict(ErrorCode.UNKNOWN_SERVER_ERROR)  # an IOException, in Kafka a KafkaException
        allowance.unpacked_bytes -= len(records)
        start, end = 0, len(records)
    try:
        _walk(records, start, end, count)
    except IndexError:
        raise _Invalid from None
    return Verdict(ErrorCode.INVALID_TIMESTAMP) if attributes & _LOG_APPEND_TIME else SOUND


def _walk(data: bytes, at: int, end: int, count: int) -> None:
    """Check that `count` records fill `data` from `at` to `end`. Raises _Invalid, IndexError.

    Numbers of one or two bytes are read inline, without a call, because this runs for each record of each batch.
    """
    for _ in range(count):
        size = data[at]
        if size < 0x80:
            at += 1
        elif data[at + 1] < 0x80:
            size, at = size & 0x7F | data[at + 1] << 7, at + 2
        else:
            size, at = _number(data, at)
        stop = at + (size >> 1)
        if size & 1 or stop > end:
            raise _Invalid
        at += 1  # its attributes
        if data[at] < 0x80:  # its timestamp's delta
            at += 1
        elif data[at + 1] < 0x80:
            at += 2
        else:
            _, at = _number(data, at, bits=64)
        if data[at] < 0x80:  # its offset's
            at += 1
        elif data[at + 1] < 0x80:
            at += 2
        elif data[at + 2] < 0x80:
            at += 3
        else:
            _, at = _number(data, at)
        size = data[at]  # of the key; an odd number is a negative one
        if size < 0x80:
            at += 1
        else:
            size, at = _number(data, at)
        if not size & 1:
            at += size >> 1
            if at > stop:
                raise _Invalid
        elif size != _NULL:
            raise _Invalid
        size = data[at]
        if size < 0x80:
            at += 1
        elif data[at + 1] < 0x80:
            size, at = size & 0x7F | data[at + 1] << 7, at + 2
        else:
            size, at = _number(data, at)
        if not size & 1:
            at += size >> 1
            if at >= stop:
                raise _Invalid
        elif size != _NULL:
            raise _Invalid
        at = _headers(data, at, stop) if data[at] else at + 1
        if at != stop:
            raise _Invalid
    if at != end:
        raise _Invalid


def _headers(data: bytes, at: int, stop: int) -> int:
    """The position behind a record's headers."""
    count, at = _number(data, at)
    if count & 1 or count >> 1 > stop - at:
        raise _Invalid
    for _ in range(count >> 1):
        size, at = _number(data, at)
        if size & 1:
            raise _Invalid
        at += size >> 1
        if at >= stop:
            raise _Invalid
        size, at = _number(data, at)
        if size & 1 and size != _NULL:
            raise _Invalid
        at += 0 if size & 1 else size >> 1
        if at > stop:
            raise _Invalid
    return at


def _number(data: bytes, at: int, bits: int = 32) -> tuple[int, int]:
    """(The number at `at`, still in zigzag; the position behind it)"""
    try:
        value, after = decode_varint(data, at, bits)
    except ValueError:
        raise _Invalid from None
    return value << 1 if value >= 0 else (-value << 1) - 1, after


# --- message sets of magic 0 and 1 ---


def _messages(records: bytes, allowance: Allowance) -> Verdict:
    """Check bounds only: the machine checks each message, and the contents of wrappers."""
    position = 0
    try:
        while size_bytes := _entry_bytes(records, position):
            allowance.messages -= 1
            if records[position + _MAGIC_AT + 1] & _CODEC_MASK:
                entry = message.read_message(records, position)
                packed = entry.value or b""
                if entry.codec == "lz4" and entry.magic == 0:
                    packed = legacy_lz4(packed, correct=True)
                unpacked = decompress(entry.codec, packed, allowance.unpacked_bytes // WRAPPERS_ARE_UNPACKED)
                allowance.unpacked_bytes -= len(unpacked) * WRAPPERS_ARE_UNPACKED
                allowance.messages -= WRAPPER_COSTS - 1
                count, from_zero = _count(unpacked, allowance.messages)
                allowance.messages -= count if from_zero else count * REWRITTEN_COSTS
                allowance.rewritten_bytes -= 0 if from_zero else len(unpacked)
            if allowance.messages < 0 or allowance.rewritten_bytes < 0:
                return Verdict(ErrorCode.MESSAGE_TOO_LARGE, unread=True)
            position += size_bytes
    except DecompressedTooLarge:
        return Verdict(ErrorCode.MESSAGE_TOO_LARGE, unread=True)
    except (RecordsError, DecompressionFailed, _Corrupt):
        return Verdict(ErrorCode.CORRUPT_MESSAGE, unread=True)
    return SOUND


def _count(unpacked: bytes, most: int) -> tuple[int, bool]:
    """(Messages in a wrapper, at most `most` + 1; whether their offsets are 0, 1, 2 and so on)."""
    count = position = 0
    from_zero, end = True, len(unpacked)
    while count <= most and end - position >= _LENGTH_COVERS_FROM:
        offset, size = _offset_and_size(unpacked, position)
        if size < _LEAST_BYTES or unpacked[position + _MAGIC_AT : position + _MAGIC_AT + 1] > _NEWEST_MAGIC:
            raise _Corrupt
        position += _LENGTH_COVERS_FROM + size
        if position > end:
            break
        from_zero = from_zero and offset == count
        count += 1
    return count, from_zero
