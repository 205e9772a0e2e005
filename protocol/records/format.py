"""Functions for every record format, by the magic byte: a log may hold several.

The magic lies at byte 16 of an entry in all of them: Kafka kept it there so that old readers can recognize newer
entries.
"""

from typing import Final

from protocol.ids import FIRST_OFFSET, LeaderEpoch, Offset
from protocol.records import batch, message, message_set
from protocol.records.compression import Compression
from protocol.records.errors import UnknownMagic
from protocol.records.types import BatchHeader, Data, HeaderIterator, Record, Values

MAGICS: Final = (0, 1, 2)

BATCH_MAGIC: Final = batch.MAGIC
"""The first magic whose entries have a leader epoch."""

_MAGIC_AT = 16


def encode(
    values: Values,
    *,
    magic: int,
    timestamp_ms: int,
    base_offset: Offset = FIRST_OFFSET,
    compression: Compression = "none",
) -> bytes:
    """`values` in the format of `magic`; `batch.encode_batch` also takes producer ids."""
    if magic == batch.MAGIC:
        return batch.encode_batch(values, timestamp_ms=timestamp_ms, base_offset=base_offset, compression=compression)
    assert magic in (0, 1), f"magic {magic}"
    return message_set.encode_message_set(
        values,
        timestamp_ms=timestamp_ms,
        magic=1 if magic else 0,
        base_offset=base_offset,
        compression=compression,
    )


def read_header(data: Data, position: int = 0) -> BatchHeader:
    """The header of the entry at `position`.

    Raises TruncatedRecord or a CorruptRecord, naming `position`.
    """
    if position + _MAGIC_AT < len(data) and data[position + _MAGIC_AT] == batch.MAGIC:  # nearly all: without a call
        return batch.read_header(data, position)
    _magic(data, position)
    return message_set.read_header(data, position)


def read_records(data: Data, position: int = 0, header: BatchHeader | None = None) -> list[Record]:
    """The records of the entry at `position`, at absolute offsets, its checksum verified.

    `header`: of that entry, if it was read before.
    """
    magic = _magic(data, position) if header is None else header.magic
    if magic == batch.MAGIC:
        return batch.read_records(data, position, header)
    return message_set.read_records(data, position)


def place(data: Data, base_offset: Offset, leader_epoch: LeaderEpoch) -> bytes:
    """One batch, or one message set (which has no epoch), with the leader's `base_offset` set."""
    magic = _magic(data, 0)
    if magic == batch.MAGIC:
        return batch.place_batch(data, base_offset, leader_epoch)
    return message_set.place_message_set(data, base_offset)


def check_crc(data: Data, position: int = 0) -> bool:
    """Whether the checksum of the entry at `position` is right. Raises as `read_header`."""
    magic = _magic(data, position)
    if magic == batch.MAGIC:
        return batch.check_crc(data, position)
    return message_set.check_crc(data, position)


def has_right_crc(data: Data, position: int, header: BatchHeader) -> bool:
    """Whether the checksum of the entry at `position` is right. `header`: as read there."""
    if header.magic == batch.MAGIC:
        return batch.crc_at(data, position, header.size_bytes) == header.crc
    return message.crc_at(data, position, header.size_bytes) == header.crc


def iter_headers(data: Data) -> HeaderIterator:
    """Positions and headers of the entries in `data`; see `tail`, `end` for an incomplete rest."""
    return HeaderIterator(data, read_header)


def _magic(data: Data, position: int) -> int:
    if position + _MAGIC_AT >= len(data):
        # Too short for a magic: the format with the smallest entries reports the missing part.
        return 0
    magic = data[position + _MAGIC_AT]
    if magic not in MAGICS:
        raise UnknownMagic(position, f"magic {magic}, known are 0, 1 and 2")
    return magic
