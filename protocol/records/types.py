"""Decoded form of both record formats: records, and the header of their entry."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from protocol.ids import LeaderEpoch, Offset
from protocol.records.compression import Compression
from protocol.records.errors import TruncatedRecord

BATCH_BYTES_MAX: Final = 100 * 1024 * 1024
"""Maximum bytes of an entry: Kafka's `socket.request.max.bytes`."""

Data = bytes | bytearray | memoryview

Headers = tuple[tuple[str, bytes | None], ...]
RecordFields = tuple[bytes | None, bytes | None, Headers]
"""(key, value, headers) of a record to encode; a bare `bytes` stands for a value alone."""
Values = Sequence[bytes] | Sequence[RecordFields] | Sequence[bytes | RecordFields]

NO_TIMESTAMP: Final = -1
NO_SEQUENCE: Final = -1
SEQUENCE_END: Final = 1 << 31
"""Sequence numbers wrap to 0 here (KIP-98)."""


TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
"""Bits of a v2 batch's attributes; older entries have none of them."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """One record at its absolute offset; `timestamp_ms` since 1970, -1 if the format has none."""

    offset: Offset
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class BatchHeader(msgspec.Struct, frozen=True, gc=False):
    """An entry of the log without its records.

    An entry is a v2 batch, or one message (possibly a compressed wrapper) of an older message set. `last_offset` is
    inclusive, `size_bytes` the whole entry, offset and length fields included. `crc` is CRC-32C in a batch, CRC-32 in a
    message. Absent epochs, producer ids, sequences and timestamps are -1.
    """

    base_offset: Offset
    last_offset: Offset
    size_bytes: int
    leader_epoch: LeaderEpoch
    magic: int
    crc: int
    compression: Compression
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int
    record_count: int
    attributes: int = 0

    @property
    def next_offset(self) -> Offset:
        """The offset after the last record."""
        return self.last_offset + 1

    @property
    def has_log_append_time(self) -> bool:
        """Whether the broker set the timestamp (`message.timestamp.type=LogAppendTime`)."""
        return bool(self.attributes & 0x08)

    @property
    def is_transactional(self) -> bool:
        return self.magic == 2 and bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether the batch holds a transaction marker, no user's records."""
        return self.magic == 2 and bool(self.attributes & CONTROL)


HeaderReader = Callable[[Data, int], BatchHeader]


class HeaderIterator(Iterator[tuple[int, BatchHeader]]):
    """Positions and headers of the entries in `data`, to an incomplete tail or the first damage.

    `end` is the position after the last entry returned: recovery truncates there (docs/semantics.md 3). Afterwards
    `tail` is None if the data ended there, else the error of the incomplete part. Damage that more bytes could not
    repair is raised as CorruptRecord, with `end` still in place.
    """

    def __init__(self, data: Data, read_header: HeaderReader) -> None:
        self._data = data
        self._read_header = read_header
        self.end = 0
        self.tail: TruncatedRecord | None = None

    def __next__(self) -> tuple[int, BatchHeader]:
        position = self.end
        if position >= len(self._data) or self.tail is not None:
            raise StopIteration
        try:
            header = self._read_header(self._data, position)
        except TruncatedRecord as tail:
            self.tail = tail
            raise StopIteration from None
        self.end = position + header.size_bytes
        return position, header
