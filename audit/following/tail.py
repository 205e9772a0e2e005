"""The growing end of a run's event files: new whole lines, a limited amount at a time.

A growing directory gets new files (a node's next incarnation), and lines appended to existing ones. Each file is read
from the end of the last look to its last whole line. If there is more than the limit, the file with the oldest lines
comes first, so that no event waits long for earlier ones.

An unreadable file (a link, a file in another node's folder, one that became shorter) is reported once and left out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from emulator.regular_files import open_regular, reason, refuse_foreign_link
from emulator.run_layout import WIRE_SUFFIX, event_paths, is_foreign
from protocol.events.event_parsing import LINE_BYTES_MAX, at_ms_in

CHUNK_BYTES: Final = 1 << 18
TAKE_BYTES: Final = 4 << 20
"""Limit of all files together per look; one line may be longer."""


class Piece(msgspec.Struct, frozen=True):
    """Whole lines of one file, with their ends. `file`: its name."""

    file: str
    data: bytes


class Taken(msgspec.Struct, frozen=True):
    """Result of a look.

    `behind_ms`: more lines are left, the first of them later than this time; None: none is left. `broken`: faults of
    files, a sentence each, once.
    """

    pieces: list[Piece]
    behind_ms: float | None
    broken: list[str]


class _File:
    """A file.

    `read_to_ms`: time of its last line that was read, or of its first line before that.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self.read_to_ms = -math.inf


class Tail:
    """Reader of the files in a run's folder `events`, without those of the wire level."""

    def __init__(self, events: Path) -> None:
        self._events = events
        self._files: dict[Path, _File] = {}
        self._refused: set[Path] = set()
        self.newest_ms = 0.0
        """Newest time of all lines that were read."""

    def take(self, bytes_max: int = TAKE_BYTES) -> Taken:
        """Read new lines. Raises NotRegular, OSError of the folder itself."""
        refuse_foreign_link(self._events)
        broken = list(self._find())
        pieces: list[Piece] = []
        unread = list(self._files.values())
        taken_bytes = 0
        while unread and taken_bytes < bytes_max:
            # A node's incarnations follow one another: the next file waits for the rest of the last.
            file = min(unread, key=lambda file: (file.read_to_ms, file.path.name))
            try:
                data = self._read(file)
            except OSError as error:
                self._refused.add(file.path)
                del self._files[file.path]
                unread.remove(file)
                broken.append(f"{file.path.name}: cannot be read any more: {reason(error)}")
                continue
            if data:
                taken_bytes += len(data)
                pieces.append(Piece(file.path.name, data))
            else:
                unread.remove(file)
        return Taken(pieces, min((file.read_to_ms for file in unread), default=None), broken)

    def torn(self) -> Iterator[Piece]:
        """The rest after the last line's end of finished files, with an end added."""
        for file in self._files.values():
            with open_regular(file.path) as opened:
                left = os.pread(opened.fileno(), LINE_BYTES_MAX, file.position)
            if left.strip():
                yield Piece(file.path.name, left + b"\n")

    def _find(self) -> Iterator[str]:
        """Find new files; yields the faults of unusable ones."""
        for path in event_paths(self._events):
            if path in self._files or path in self._refused or path.name.endswith(WIRE_SUFFIX):
                continue
            if is_foreign(path):
                self._refused.add(path)
                yield f"{path.parent.name}/{path.name}: is not named after the node whose folder it is in"
                continue
            file = _File(path)
            try:
                with open_regular(path) as opened:
                    first, end, _ = os.pread(opened.fileno(), CHUNK_BYTES, 0).partition(b"\n")
            except OSError as error:
                self._refused.add(path)
                yield f"{path.name}: {reason(error)}"
                continue
            if (
                end
            ):  # otherwise the next look checks it again: an incarnation's first line is later than its predecessor
                file.read_to_ms = at_ms_in(first)
                self._files[path] = file

    def _read(self, file: _File) -> bytes:
        """Some whole lines; b"": there are none."""
        with open_regular(file.path) as opened:
            descriptor = opened.fileno()
            if os.fstat(descriptor).st_size < file.position:
                raise OSError(0, "it became shorter")
            data = os.pread(descriptor, CHUNK_BYTES, file.position)
            end = data.rfind(b"\n") + 1
            if not end and len(data) == CHUNK_BYTES:
                data = os.pread(descriptor, LINE_BYTES_MAX + 1, file.position)
                end = data.find(b"\n") + 1
                if not end and len(data) > LINE_BYTES_MAX:
                    return self._too_long(descriptor, file)
        file.position += end
        whole = data[:end]
        if whole:
            file.read_to_ms = max(file.read_to_ms, at_ms_in(whole[whole.rfind(b"\n", 0, end - 1) + 1 :]))
            self.newest_ms = max(self.newest_ms, file.read_to_ms)
        return whole

    def _too_long(self, descriptor: int, file: _File) -> bytes:
        """Skip a line that is too long, once it has ended; its beginning stands for it."""
        position = file.position
        while data := os.pread(descriptor, LINE_BYTES_MAX, position):
            end = data.find(b"\n") + 1
            if end:
                first = os.pread(descriptor, CHUNK_BYTES, file.position)
                file.position = position + end
                return first + b"\n"
            position += len(data)
        return b""
