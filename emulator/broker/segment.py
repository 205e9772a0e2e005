"""One segment of a log: a file of consecutive batches and the index that finds them.

The file is named after its base offset. The index has one entry per batch, in memory; it is rebuilt from the file's
headers when a broker starts."""

from bisect import bisect_left

from emulator.storage.files import Files
from emulator.storage.log_directory import segment_name
from protocol.records.format import check_crc, iter_headers
from protocol.records.types import BatchHeader


def segment_path(directory: str, base_offset: int) -> str:
    """`t-0/00000000000000000042.log`"""
    return f"{directory}/{segment_name(base_offset)}"


class Segment:
    """Batches from `base_offset` on. `lasts[i]`, `positions[i]`, `headers[i]` describe the i-th batch."""

    __slots__ = ("base_offset", "files", "headers", "lasts", "path", "positions", "size_bytes")

    def __init__(self, files: Files, directory: str, base_offset: int) -> None:
        self.files = files
        self.base_offset = base_offset
        self.path = segment_path(directory, base_offset)
        self.size_bytes = 0
        self.headers: list[BatchHeader] = []
        self.positions: list[int] = []
        self.lasts: list[int] = []

    def create(self) -> None:
        """An empty file, so that the log's end survives a restart."""
        self.size_bytes = self.files.append(self.path, b"")

    def append(self, data: bytes, header: BatchHeader) -> None:
        """One batch at the end. Raises StorageError; then nothing has changed."""
        self.files.append(self.path, data)
        self._index(self.size_bytes, header)

    def append_many(self, data: bytes, headers: list[BatchHeader]) -> None:
        """Several batches that lie one after the other in `data`, in one write."""
        self.files.append(self.path, data)
        for header in headers:
            self._index(self.size_bytes, header)

    def _index(self, position: int, header: BatchHeader) -> None:
        self.positions.append(position)
        self.headers.append(header)
        self.lasts.append(header.last_offset)
        self.size_bytes = position + header.size_bytes

    def load(self, *, validate: bool) -> bool:
        """Rebuild the index from the file. A torn or damaged tail is cut off; returns whether the file was whole.

        `validate`: check every batch's CRC too (recovery after an unclean stop; semantics 3).
        """
        size = self.files.size(self.path)
        data = self.files.read(self.path, 0, size)
        entries = iter_headers(data)
        whole = True
        try:
            for position, header in entries:
                if validate and not check_crc(data, position):
                    whole = False
                    break
                self._index(position, header)
        except ValueError:
            whole = False
        if self.size_bytes < size:
            whole = False
            self.files.truncate(self.path, self.size_bytes)
        return whole

    @property
    def next_offset(self) -> int:
        """After the last batch; the base offset when empty."""
        return self.lasts[-1] + 1 if self.lasts else self.base_offset

    def find(self, offset: int) -> int:
        """Index of the first batch that ends at or after `offset`; may be len(headers)."""
        return bisect_left(self.lasts, offset)

    def read(self, first: int, stop_offset: int, max_bytes: int, *, at_least_one: bool) -> bytes:
        """Whole batches from the `first`-th on that begin below `stop_offset`, at most `max_bytes` (or one batch)."""
        headers = self.headers
        last = first
        count = len(headers)
        size = 0
        while last < count and headers[last].base_offset < stop_offset:
            grown = size + headers[last].size_bytes
            if grown > max_bytes and not (at_least_one and last == first):
                break
            size = grown
            last += 1
        if not size:
            return b""
        return self.files.read(self.path, self.positions[first], size)

    def truncate_to(self, offset: int) -> None:
        """Remove the batch that holds `offset` and all after it."""
        cut = self.find(offset)
        if cut < len(self.headers):
            size = self.positions[cut]
            self.files.truncate(self.path, size)
            del self.headers[cut:], self.positions[cut:], self.lasts[cut:]
            self.size_bytes = size
