"""One segment of a log: a file of consecutive batches, and its index.

The file is named after its base offset. Memory holds the position of a batch every INDEX_INTERVAL_BYTES, as Kafka's
offset index, and the newest batches in full: replication and most consumers read only these. Older ones are found
by reading on in the file. So a log of a gigabyte takes a few megabytes of memory, however small its batches.

    index    o         o         o         o         o          one entry per 4 KiB: last offset, position
    file     |b|b| b |b|b|b|  b  |b|b| b |b|b|b|  b  |b|b| b |
    recent                                     [b|  b  |b|b| b ]    headers, positions, last offsets

A broker's start rebuilds the index from the file's headers.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator

from emulator.storage.files import Files
from emulator.storage.log_directory import segment_name
from protocol.ids import Offset
from protocol.records.format import check_crc, iter_headers, read_header
from protocol.records.types import NO_TIMESTAMP, BatchHeader

INDEX_INTERVAL_BYTES = 4096
"""Kafka's index.interval.bytes."""
RECENT_MIN = 256
RECENT_MAX = 2 * RECENT_MIN
"""Bound of batches held in full: at this number all but RECENT_MIN are dropped."""
WINDOW_BYTES = 1 << 16
"""Size of a read during a scan; more if a batch is larger."""

Found = tuple[int, BatchHeader, bytes]
"""A batch: its position, its header, and data that begins with it and contains all of it."""


def segment_path(directory: str, base_offset: Offset) -> str:
    """Path of a segment: `t-0/00000000000000000042.log`"""
    return f"{directory}/{segment_name(base_offset)}"


class Segment:
    """Batches from `base_offset` on; the next one gets `next_offset`.

    `lasts[i]`, `positions[i]`, `headers[i]` describe the i-th of the recent ones. `forgotten` is called with each
    that is not recent any more, in order.
    """

    __slots__ = (
        "_forgotten", "_index_lasts", "_index_positions", "_old_last", "base_offset", "files", "headers", "lasts",
        "next_offset", "path", "positions", "size_bytes",
    )  # fmt: skip

    def __init__(
        self,
        files: Files,
        directory: str,
        base_offset: Offset,
        forgotten: "Callable[[Segment, BatchHeader], None] | None" = None,
    ) -> None:
        self.files = files
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.path = segment_path(directory, base_offset)
        self.size_bytes = 0
        self.headers: list[BatchHeader] = []
        self.positions: list[int] = []
        self.lasts: list[Offset] = []
        self._index_lasts = array("q")
        self._index_positions = array("q")
        self._old_last: int = base_offset - 1
        self._forgotten = forgotten

    def create(self) -> None:
        """Create an empty file, so that the log's end survives a restart."""
        self.size_bytes = self.files.append(self.path, b"")

    def append(self, data: bytes, header: BatchHeader) -> None:
        """Append one batch. Raises StorageError; then nothing has changed."""
        self.files.append(self.path, data)
        self._index(self.size_bytes, header)

    def append_many(self, data: bytes, headers: list[BatchHeader]) -> None:
        """Append several adjacent batches of `data`, in one write."""
        self.files.append(self.path, data)
        for header in headers:
            self._index(self.size_bytes, header)

    def _index(self, position: int, header: BatchHeader) -> None:
        marks = self._index_positions
        if not marks or position - marks[-1] >= INDEX_INTERVAL_BYTES:
            marks.append(position)
            self._index_lasts.append(header.last_offset)
        self.positions.append(position)
        self.headers.append(header)
        self.lasts.append(header.last_offset)
        self.next_offset = header.last_offset + 1
        self.size_bytes = position + header.size_bytes
        if len(self.headers) >= RECENT_MAX:
            self.forget(RECENT_MIN)

    def forget(self, keep: int = 0) -> None:
        """Keep only the newest `keep` batches in full."""
        count = len(self.headers) - keep
        if count <= 0:
            return
        if self._forgotten is not None:
            for header in self.headers[:count]:
                self._forgotten(self, header)
        self._old_last = self.lasts[count - 1]
        del self.headers[:count], self.positions[:count], self.lasts[:count]

    def load(
        self, *, validate: bool, seen: Callable[[BatchHeader], None] | None = None, largest_bytes: int = sys.maxsize
    ) -> bool:
        """Rebuild the index from the file, without a torn or damaged tail; whether it was whole.

        `seen` is called with every batch. `validate`: check every batch's CRC too, and count one larger than
        `largest_bytes` as damaged (recovery after an unclean stop; semantics 3).
        """
        size = self.files.size(self.path)
        whole = True
        try:
            for position, header, data in self._scan(0, size):
                if validate and (header.size_bytes > largest_bytes or not check_crc(data)):
                    whole = False
                    break
                self._index(position, header)
                if seen is not None:
                    seen(header)
        except ValueError:
            whole = False
        if self.size_bytes < size:
            whole = False
            self.files.truncate(self.path, self.size_bytes)
        return whole

    @property
    def has_old(self) -> bool:
        """Whether there are batches that are not recent."""
        return self._old_last >= self.base_offset

    @property
    def last_timestamp_ms(self) -> int:
        """The largest timestamp of the last batch; -1 without one. Raises StorageError."""
        if self.headers:
            return self.headers[-1].max_timestamp_ms
        if not self.size_bytes:
            return NO_TIMESTAMP
        last = Offset(self.next_offset - 1)
        return read_header(self.read(last, self.next_offset, 0, at_least_one=True)).max_timestamp_ms

    def old_batches(self) -> Iterator[BatchHeader]:
        """Headers of the batches that are not recent, read from the file."""
        stop = self.positions[0] if self.positions else self.size_bytes
        for _, header, _ in self._scan(0, stop):
            yield header

    def batches(self) -> Iterator[BatchHeader]:
        """Every batch's header."""
        yield from self.old_batches()
        yield from self.headers

    # --- reading ---

    def read(self, offset: Offset, stop_offset: Offset, max_bytes: int, *, at_least_one: bool) -> bytes:
        """Whole batches from the one with `offset` up to the one with `stop_offset`, exclusive.

        At most `max_bytes` (or one batch). Empty when `offset` lies beyond the last (LogSegment.read's
        maxPosition).
        """
        if offset >= self.next_offset:
            return b""
        if offset <= self._old_last:
            return self._read_old(offset, stop_offset, max_bytes, at_least_one)
        headers = self.headers
        first = last = bisect_left(self.lasts, offset)
        count = len(headers)
        size = 0
        while last < count and headers[last].last_offset < stop_offset:
            grown = size + headers[last].size_bytes
            if grown > max_bytes and not (at_least_one and last == first):
                break
            size = grown
            last += 1
        if not size:
            return b""
        return self.files.read(self.path, self.positions[first], size)

    def _read_old(self, offset: Offset, stop_offset: Offset, max_bytes: int, at_least_one: bool) -> bytes:
        start = end = -1
        for position, header, _ in self._scan(self._mark_before(offset), self.size_bytes):
            if header.last_offset < offset:
                continue
            if header.last_offset >= stop_offset:
                break
            first = start < 0
            start = position if first else start
            after = position + header.size_bytes
            if after - start > max_bytes and not (at_least_one and first):
                break
            end = after
        return self.files.read(self.path, start, end - start) if end > 0 else b""

    def position_of(self, offset: Offset) -> int:
        """Position of the first batch that ends at or after `offset`; else the file's size."""
        if offset >= self.next_offset:
            return self.size_bytes
        if offset > self._old_last:
            return self.positions[bisect_left(self.lasts, offset)]
        for position, header, _ in self._scan(self._mark_before(offset), self.size_bytes):
            if header.last_offset >= offset:
                return position
        raise AssertionError(f"{self.path}: its batches end before {offset}, and it says {self.next_offset}")

    def indexed_offset_from(self, position: int) -> Offset | None:
        """Last offset of the first indexed batch at or behind `position`; None: there is none.

        Kafka's index has no entry of the first batch. Source: OffsetIndex.fetchUpperBoundOffset.
        """
        mark = bisect_left(self._index_positions, max(position, 1))
        return Offset(self._index_lasts[mark]) if mark < len(self._index_positions) else None

    # --- truncation ---

    def truncate_to(self, offset: Offset) -> bool:
        """Remove the batch with `offset` and all after it. Whether any of them was not recent."""
        cut = self.position_of(offset)
        if cut == self.size_bytes:
            return False
        self.files.truncate(self.path, cut)
        self.size_bytes = cut
        kept = bisect_left(self.positions, cut)
        del self.headers[kept:], self.positions[kept:], self.lasts[kept:]
        marks = bisect_left(self._index_positions, cut)
        del self._index_positions[marks:], self._index_lasts[marks:]
        if offset > self._old_last:
            self.next_offset = Offset((self.lasts[-1] if self.lasts else self._old_last) + 1)
            return False
        self.next_offset = self.base_offset
        for _, header, _ in self._scan(self._index_positions[-1] if marks else 0, cut):
            self.next_offset = header.last_offset + 1
        self._old_last = self.next_offset - 1
        return True

    # --- batches that are not recent ---

    def _mark_before(self, offset: Offset) -> int:
        """Position to scan from for `offset`: the last mark before it, or the file's start."""
        mark = bisect_left(self._index_lasts, offset) - 1
        return self._index_positions[mark] if mark >= 0 else 0

    def _scan(self, position: int, stop: int) -> Iterator[Found]:
        """Batches that begin in [position, stop), read a window at a time. Raises CorruptRecord."""
        window = WINDOW_BYTES
        while position < stop:
            data = self.files.read(self.path, position, min(window, self.files.size(self.path) - position))
            entries = iter_headers(data)
            for at, header in entries:
                if position + at >= stop:
                    return
                yield position + at, header, data[at : at + header.size_bytes]
            if not entries.end:
                if len(data) < window:
                    return  # torn
                window *= 2
                continue
            position, window = position + entries.end, WINDOW_BYTES
