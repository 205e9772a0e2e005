"""Batches before an append: validation and assignment of offsets. Semantics 1.8, 2.4.

In Kafka's order (Log.analyzeAndValidateRecords): of each batch its size, then its checksum.
"""

from typing import NamedTuple

from msgspec.structs import replace

from protocol.ids import LeaderEpoch, Offset
from protocol.records.format import BATCH_MAGIC, has_right_crc, iter_headers, place, read_header
from protocol.records.message import read_message
from protocol.records.message_set import place_plain, place_wrapper
from protocol.records.types import BatchHeader


class CorruptBatch(ValueError):
    """A batch whose CRC or shape is wrong; Kafka's error 2."""


class OffsetsOutOfOrder(ValueError):
    """A follower received batches that do not continue its log: `first` to `last`, inclusive."""

    def __init__(self, message: str, first: Offset, last: Offset) -> None:
        super().__init__(message)
        self.first = first
        self.last = last


class LargerThanAllowed(ValueError):
    """A batch is larger than the topic's max.message.bytes."""


class LargerThanSegment(ValueError):
    """An append is larger than a segment. A follower sees it after segment.bytes was reduced."""


class Placed(NamedTuple):
    """Batches with their final offsets."""

    data: bytes
    headers: list[BatchHeader]


def placed_at(log_end: Offset, records: bytes, leader_epoch: LeaderEpoch, max_bytes: int) -> Placed:
    """Place one batch of a producer, or an old message set, at `log_end`, by a leader.

    Raises CorruptBatch, LargerThanAllowed.
    """
    headers: list[BatchHeader] = []
    placed: list[bytes] = []
    entries = iter_headers(records)
    try:
        while True:
            data, plain = place_plain(records, entries.end, log_end, max_bytes)
            if plain:
                entries.end += len(data)
                placed.append(data)
                headers += plain
                log_end = plain[-1].next_offset
            position, sent = next(entries, (0, None))
            if sent is None:
                break
            if sent.size_bytes > max_bytes:
                raise LargerThanAllowed(f"{sent.size_bytes} bytes of at most {max_bytes}")
            if not has_right_crc(records, position, sent):
                raise CorruptBatch(f"the batch at {position} of {len(records)} bytes fails its checksum")
            if sent.magic < BATCH_MAGIC:
                read_message(records, position)  # of one without codec it says what is wrong
                data, header = place_wrapper(records, position, sent, log_end)
            else:
                alone = sent.size_bytes == len(records)
                data = place(records if alone else records[position : entries.end], log_end, leader_epoch)
                last_offset = Offset(log_end + (sent.last_offset - sent.base_offset))
                header = replace(sent, base_offset=log_end, last_offset=last_offset, leader_epoch=leader_epoch)
            placed.append(data)
            headers.append(header)
            log_end = header.last_offset + 1
    except (CorruptBatch, LargerThanAllowed):
        raise
    except ValueError as error:
        raise CorruptBatch(str(error)) from error
    if not headers or entries.end != len(records):
        raise CorruptBatch(f"{len(records)} bytes that are not whole batches")
    return Placed(placed[0] if len(placed) == 1 else b"".join(placed), headers)


def check_first_batch(records: bytes, max_bytes: int) -> None:
    """Check the first batch's size and checksum, which precede all other checks.

    Raises CorruptBatch, LargerThanAllowed.
    """
    try:
        sent = read_header(records)
        if sent.size_bytes > max_bytes:
            raise LargerThanAllowed(f"{sent.size_bytes} bytes of at most {max_bytes}")
        if not has_right_crc(records, 0, sent):
            raise CorruptBatch(f"the batch of {len(records)} bytes fails its checksum")
    except (CorruptBatch, LargerThanAllowed):
        raise
    except ValueError as error:
        raise CorruptBatch(str(error)) from error


def continuing(log_end: Offset, data: bytes, max_bytes: int) -> Placed:
    """Check a leader's batches, which a follower takes as they are.

    Raises OffsetsOutOfOrder unless they continue at `log_end`, CorruptBatch, LargerThanAllowed.
    """
    headers: list[BatchHeader] = []
    position = 0
    while position < len(data):
        try:
            header = read_header(data, position)
        except ValueError as error:
            raise CorruptBatch(str(error)) from error
        if header.size_bytes > max_bytes:
            raise LargerThanAllowed(f"{header.size_bytes} bytes at offset {header.base_offset}, allowed: {max_bytes}")
        if not has_right_crc(data, position, header):
            raise CorruptBatch(f"the batch at offset {header.base_offset} fails its checksum")
        headers.append(header)
        position += header.size_bytes
    expected = log_end
    for header in headers:
        # Old wrappers count by their last offset: offsets may go backwards inside (semantics 11.9).
        first = header.base_offset if header.magic >= 2 else header.last_offset
        if first < expected:
            ends = (headers[0].base_offset, headers[-1].last_offset)
            raise OffsetsOutOfOrder(f"a batch at {first} after log end {expected}", *ends)
        expected = header.last_offset + 1
    return Placed(data, headers)
