"""What is to be appended to a log: looked at, and at its offsets. Semantics 1.8, 2.4.

In Kafka's order (Log.analyzeAndValidateRecords): of each batch its size, then its checksum."""

from typing import NamedTuple

from protocol.ids import LeaderEpoch, Offset
from protocol.records.format import BATCH_MAGIC, check_crc, iter_headers, place, read_header
from protocol.records.message import read_message
from protocol.records.message_set import place_plain, place_wrapper
from protocol.records.types import BatchHeader


class CorruptBatch(ValueError):
    """A batch whose CRC or shape is wrong; Kafka's error 2."""


class OffsetsOutOfOrder(ValueError):
    """A follower was given batches that do not continue its log: from `first` to `last`, both included."""

    def __init__(self, said: str, first: Offset, last: Offset) -> None:
        super().__init__(said)
        self.first = first
        self.last = last


class LargerThanAllowed(ValueError):
    """A batch is larger than the topic's max.message.bytes."""


class LargerThanSegment(ValueError):
    """More came at once than a segment may hold. A follower sees it where segment.bytes was made smaller."""


class Placed(NamedTuple):
    """Batches as they will be in the log."""

    data: bytes
    headers: list[BatchHeader]


def placed_at(log_end: Offset, records: bytes, leader_epoch: LeaderEpoch, max_bytes: int) -> Placed:
    """By a leader: one batch of a producer, or the messages of an old message set, from `log_end` on. Raises
    CorruptBatch, LargerThanAllowed."""
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
            if not check_crc(records, position):
                raise CorruptBatch(f"the batch at {position} of {len(records)} bytes fails its checksum")
            if sent.magic < BATCH_MAGIC:
                read_message(records, position)  # of one without codec it says what is wrong
                data, header = place_wrapper(records, position, sent, log_end)
            else:
                alone = sent.size_bytes == len(records)
                data = place(records if alone else records[position : entries.end], log_end, leader_epoch)
                header = read_header(data)
            placed.append(data)
            headers.append(header)
            log_end = header.next_offset
    except (CorruptBatch, LargerThanAllowed):
        raise
    except ValueError as error:
        raise CorruptBatch(str(error)) from error
    if not headers or entries.end != len(records):
        raise CorruptBatch(f"{len(records)} bytes that are not whole batches")
    return Placed(placed[0] if len(placed) == 1 else b"".join(placed), headers)


def look_at(records: bytes, max_bytes: int) -> None:
    """The first batch's size and checksum, which come before anything else that is wrong with it. Raises CorruptBatch,
    LargerThanAllowed."""
    try:
        sent = read_header(records)
        if sent.size_bytes > max_bytes:
            raise LargerThanAllowed(f"{sent.size_bytes} bytes of at most {max_bytes}")
        if not check_crc(records):
            raise CorruptBatch(f"the batch of {len(records)} bytes fails its checksum")
    except (CorruptBatch, LargerThanAllowed):
        raise
    except ValueError as error:
        raise CorruptBatch(str(error)) from error


def continuing(log_end: Offset, data: bytes, max_bytes: int) -> Placed:
    """By a follower: batches of its leader, as they are. Raises OffsetsOutOfOrder unless they go on at `log_end`,
    CorruptBatch, LargerThanAllowed."""
    headers: list[BatchHeader] = []
    position = 0
    while position < len(data):
        try:
            header = read_header(data, position)
        except ValueError as error:
            raise CorruptBatch(str(error)) from error
        if header.size_bytes > max_bytes:
            raise LargerThanAllowed(f"{header.size_bytes} bytes at offset {header.base_offset}, allowed: {max_bytes}")
        if not check_crc(data, position):
            raise CorruptBatch(f"the batch at offset {header.base_offset} fails its checksum")
        headers.append(header)
        position += header.size_bytes
    expected = log_end
    for header in headers:
        # Old wrappers are judged by their last offset: offsets may go backwards inside (semantics 11.9).
        first = header.base_offset if header.magic >= 2 else header.last_offset
        if first < expected:
            ends = (headers[0].base_offset, headers[-1].last_offset)
            raise OffsetsOutOfOrder(f"a batch at {first} after log end {expected}", *ends)
        expected = header.next_offset
    return Placed(data, headers)
