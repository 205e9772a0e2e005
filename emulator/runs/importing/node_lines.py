"""One node's matched lines, from all of its files, in the order of its clock.

Files of one kind follow one another (rotation); server.log, state-change.log and controller.log are merged. A file
whose times go back, as where its lines were reordered, is put in order within a window.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from emulator.runs.importing.byte_lines import ByteLines, DamagedArchive
from emulator.runs.importing.collected_nodes import LogFile
from emulator.runs.importing.line_forms import Found
from emulator.runs.importing.log_reader import Damage, LogReader

WINDOW_LINES: Final = 4_096
"""Matched lines that wait for earlier ones."""
_ROTATED: Final = (".log", ".txt")


class OfFile(NamedTuple):
    """A matched line and its file."""

    found: Found
    file: str


class FileReport(NamedTuple):
    """Results of reading a file. `error`: why not all of it was read."""

    file: str
    lines: int
    entries: int
    first_ms: float | None
    last_ms: float | None
    damage: tuple[Damage, ...]
    damaged: dict[str, int]
    backwards: int
    silences: tuple[tuple[float, float], ...]
    full_disk_at: tuple[float, ...]
    error: str


class NodeLines:
    """Reads the files of one node.

    `reports`: of the files read so far; `progress` receives bytes as they are read.
    """

    def __init__(self, logs: tuple[LogFile, ...], progress: Callable[[int], None]) -> None:
        self._logs = logs
        self._progress = progress
        self._last_ms: dict[str, float] = {}
        self.reports: list[FileReport] = []

    def __iter__(self) -> Iterator[OfFile]:
        by_kind: defaultdict[str, list[LogFile]] = defaultdict(list)
        for file in self._logs:
            by_kind[kind_of(file.shown)].append(file)
        streams = [
            in_order(chain.from_iterable(map(self._lines_of, files))) for _, files in sorted(by_kind.items())
        ]
        return heapq.merge(*streams, key=lambda one: one.found.wall_ms)

    def _lines_of(self, file: LogFile) -> Iterator[OfFile]:
        source = ByteLines(file.path)
        kind = kind_of(file.shown)
        reader = LogReader(source, file.layout, self._last_ms.get(kind))
        error = ""
        before = 0
        try:
            for found in reader.found():
                if source.read_bytes != before:
                    self._progress(source.read_bytes - before)
                    before = source.read_bytes
                yield OfFile(found, file.shown)
        except (DamagedArchive, OSError) as problem:
            error = str(problem)
        self._progress(source.read_bytes - before)
        if reader.last_ms is not None:
            self._last_ms[kind] = max(reader.last_ms, self._last_ms.get(kind, reader.last_ms))
        self.reports.append(
            FileReport(
                file.shown, reader.lines, reader.entries, reader.first_ms, reader.last_ms, tuple(reader.damage),
                dict(reader.damaged), reader.backwards, tuple(sorted(reader.silences, reverse=True)),
                tuple(reader.full_disk_at), error,
            )
        )  # fmt: skip


def kind_of(shown: str) -> str:
    """`broker-1/server.log.2026-11-29.gz` -> `broker-1/server`, for rotated files, too."""
    folder, _, name = shown.rpartition("/")
    for suffix in _ROTATED:
        name = name.partition(suffix)[0]
    return f"{folder}/{name.partition('.')[0]}"


def in_order(lines: Iterator[OfFile]) -> Iterator[OfFile]:
    """Lines by their times, as far as WINDOW_LINES allow; equal times stay in the file's order."""
    waiting: list[tuple[float, int, OfFile]] = []
    for number, one in enumerate(lines):
        heapq.heappush(waiting, (one.found.wall_ms, number, one))
        if len(waiting) > WINDOW_LINES:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]
