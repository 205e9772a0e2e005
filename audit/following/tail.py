"""The growing end of a run's event files: whole lines that were not read yet, a bounded number of bytes at a time.

A directory that grows has new files (a node's next life), and lines that are appended to existing ones. Each file is
read from where the last look ended to its last whole line. Where more has been written than is taken at once, the file
whose lines are oldest goes first: then nothing that is read has to wait long for what happened before it.

What cannot be read (a link, a file in another node's folder, one that became shorter) is told once and left.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from emulator.layout import WIRE_SUFFIX, event_paths, is_foreign
from emulator.regular_files import open_regular, reason, refuse_foreign_link
from protocol.events.reading import LINE_BYTES_MAX, at_ms_in

CHUNK_BYTES: Final = 1 << 18
TAKE_BYTES: Final = 4 << 20
"""Of all files together, at once; one line may be longer."""


class Piece(msgspec.Struct, frozen=True):
    """Whole lines of one file, with their ends. `file`: its name."""

    file: str
    data: bytes


class Taken(msgspec.Struct, frozen=True):
    """`behind_ms`: there is more, and the first of it was written after this moment of the run; None: that was all.
    `broken`: what is wrong with files, a sentence each, once."""

    pieces: list[Piece]
    behind_ms: float | None
    broken: list[str]


class _File:
    """`read_to_ms`: of its last line that was read; of one from which nothing was read, of its first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self.read_to_ms = -math.inf


class Tail:
    """Of the files in a run's folder `events`, without the wire level's: nothing that is followed is in them."""

    def __init__(self, events: Path) -> None:
        self._events = events
        self._files: dict[Path, _File] = {}
        self._refused: set[Path] = set()
        self.newest_ms = 0.0
        """The newest moment that a line which was read is of."""

    def take(self, bytes_max: int = TAKE_BYTES) -> Taken:
        """What is new. Raises NotRegular, OSError of the folder itself."""
        refuse_foreign_link(self._events)
        broken = list(self._find())
        pieces: list[Piece] = []
        unread = list(self._files.values())
        taken_bytes = 0
        while unread and taken_bytes < bytes_max:
            # A node's lives come one after the other: its next file has to wait for what is left of the last.
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
        """What is left behind the last line's end of files that nobody writes any more, with an end put to it."""
        for file in self._files.values():
            with open_regular(file.path) as opened:
                left = os.pread(opened.fileno(), LINE_BYTES_MAX, file.position)
            if left.strip():
                yield Piece(file.path.name, left + b"\n")

    def _find(self) -> Iterator[str]:
        """New files; yields what is wrong with one."""
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
            if end:  # until then it is looked at again: a life's first line is later than all of the life before
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
        """Passes over a line that is no event, if it has ended; its beginning stands for it."""
        position = file.position
        while data := os.pread(descriptor, LINE_BYTES_MAX, position):
            end = data.find(b"\n") + 1
            if end:
                first = os.pread(descriptor, CHUNK_BYTES, file.position)
                file.position = position + end
                return first + b"\n"
            position += len(data)
        return b""
