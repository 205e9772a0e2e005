"""The newest batches of each replica of a running cluster, read from its segments.

A window of a file begins at a batch and goes to the end of the file. Each look reads the whole window again, because a
truncation may have replaced a part of it; an unchanged file is not read. What does not fit the bounds is left out: old
batches of the window, old segments, replicas beyond the first REPLICAS_MAX.
"""

from pathlib import Path
from typing import Final, NamedTuple

from emulator.regular_files import NotRegular, open_regular
from emulator.run_layout import DATA_FOLDER
from emulator.storage.log_directory import SEGMENT_SUFFIX
from protocol.records import format as records
from protocol.records.errors import RecordsError
from protocol.records.types import BatchHeader

Batch = list[int | str]
"""[base offset, last offset, leader epoch, text of its values]."""
BATCHES_MAX: Final = 48
WINDOW_BYTES_MAX: Final = 1 << 18
"""Limits of a window; one batch stays, whatever its size."""
READ_BYTES_MAX: Final = 2 << 20
"""Of one read: more than Kafka's largest batch."""
READS_MAX: Final = 4
"""Of a file per look. The end of a larger file is found in several looks."""
UNSEEN: Final = (-1, -1)
REPLICAS_MAX: Final = 48
TEXT_CHARACTERS_MAX: Final = 24
RECORDS_BYTES_MAX: Final = 16 * 1024
"""Batches above this size have no text."""


class _Window(NamedTuple):
    """`position`: of the first batch. `seen`: size and time of the file at the last look."""

    path: Path
    position: int
    seen: tuple[int, int]
    batches: list[Batch]


class LogWindows:
    """The windows of a run's replicas."""

    def __init__(self, run: Path) -> None:
        self._data = run / DATA_FOLDER
        self._windows: dict[tuple[str, str], _Window] = {}

    def look(self, replicas: list[tuple[str, str]]) -> dict[str, dict[str, list[Batch]]]:
        """{partition: {node: its newest batches}} of (partition, node)."""
        found: dict[str, dict[str, list[Batch]]] = {}
        windows: dict[tuple[str, str], _Window] = {}
        for place, node in replicas[:REPLICAS_MAX]:
            window = self._window(place, node)
            if window is not None:
                windows[place, node] = window
                found.setdefault(place, {})[node] = window.batches
        self._windows = windows
        return found

    def _window(self, place: str, node: str) -> _Window | None:
        """None: there is no such replica on this machine, or its file is no log."""
        try:
            segment = self._segment(place, node)
            if segment is None:
                return None
            status = segment.stat()
            seen, old = (status.st_size, status.st_mtime_ns), self._windows.get((place, node))
            if old is not None and (old.path, old.seen) == (segment, seen):
                return old
            same_file = old is not None and old.path == segment and old.position <= status.st_size
            return _read(segment, old.position if old is not None and same_file else 0, seen)
        except (OSError, NotRegular, RecordsError):
            return None  # it was deleted or truncated meanwhile; the next look finds what is there

    def _segment(self, place: str, node: str) -> Path | None:
        """The newest segment."""
        home = self._data / node
        for folder in (home / place, *home.glob(f"*/{place}")):
            if segments := sorted(folder.glob(f"*{SEGMENT_SUFFIX}")):
                return segments[-1]
        return None


def _read(path: Path, position: int, seen: tuple[int, int]) -> _Window:
    """Raises OSError, NotRegular, RecordsError."""
    with open_regular(path) as file:
        for _ in range(READS_MAX):
            file.seek(position)
            data = file.read(READ_BYTES_MAX)
            headers = records.iter_headers(data)
            entries = list(headers)
            if len(data) < READ_BYTES_MAX or not entries:
                newest = _newest(entries)
                begin = newest[0][0] if newest else 0
                return _Window(path, position + begin, seen, [_batch(data, *entry) for entry in newest])
            position += headers.end
    return _Window(path, position, UNSEEN, [])


def _newest(entries: list[tuple[int, BatchHeader]]) -> list[tuple[int, BatchHeader]]:
    """The last entries, within the limits of a window."""
    kept, size_bytes = 0, 0
    for _, header in reversed(entries):
        size_bytes += header.size_bytes
        if kept and (kept == BATCHES_MAX or size_bytes > WINDOW_BYTES_MAX):
            break
        kept += 1
    return entries[len(entries) - kept :]


def _batch(data: bytes, at: int, header: BatchHeader) -> Batch:
    text = _text(data, at, header) if header.size_bytes <= RECORDS_BYTES_MAX else ""
    return [header.base_offset, header.last_offset, header.leader_epoch, text]


def _text(data: bytes, at: int, header: BatchHeader) -> str:
    """The first value, and the number of further ones; "": the records cannot be read."""
    try:
        values = [one.value for one in records.read_records(data, at, header)]
    except RecordsError:
        return ""
    first = b"" if not values else values[0] if values[0] is not None else b"(tombstone)"
    text = first[:TEXT_CHARACTERS_MAX].decode(errors="backslashreplace")[:TEXT_CHARACTERS_MAX]
    return text + (f" +{len(values) - 1}" if len(values) > 1 else "")
