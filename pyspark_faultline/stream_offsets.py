"""Offsets of a stream: how far each file has been read, always the end of a whole line.

A micro-batch takes new lines of all files up to a limit, each file an equal share at first. The limit may be exceeded
by one line, so that a long line waits for no other file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Final

from audit.input import AuditInputError
from emulator.regular_files import open_regular

Offset = dict[str, int]
"""{path of a file: byte of it up to which its lines have been read}."""
LOOK_BYTES: Final = 1 << 16
ANEW: Final = "begin the stream anew, with another checkpoint"


def refuse_lost(start: Offset, sizes: Mapping[str, int]) -> None:
    """Refuse files that vanished or became shorter since they were read. Raises AuditInputError."""
    for path, read in start.items():
        if path not in sizes:
            raise AuditInputError(f"{path}: vanished after {read} bytes of it were read; {ANEW}")
        if sizes[path] < read:
            raise AuditInputError(f"{path}: became shorter than the {read} bytes that were read of it; {ANEW}")


def advanced(start: Offset, sizes: Mapping[str, int], bytes_max: int | None) -> Offset:
    """The offset after a micro-batch of files with these sizes.

    `bytes_max`: its limit; None: all whole lines.

    Raises OSError; AuditInputError: a file was replaced by another one.
    """
    end = dict(start)
    new = {path: size - start.get(path, 0) for path, size in sizes.items()}
    waiting = sorted((path for path in new if new[path] > 0), key=lambda path: (new[path], path))
    left = sum(new.values()) if bytes_max is None else bytes_max
    longer: list[str] = []
    for number, path in enumerate(waiting):
        begin, share = start.get(path, 0), min(new[path], left // (len(waiting) - number))
        place = whole_lines_end(Path(path), begin, share)
        if place > begin:
            end[path] = place
            left -= place - begin
        else:
            longer.append(path)
    for path in sorted(longer):
        begin = start.get(path, 0)
        place = first_line_end(Path(path), begin, sizes[path])
        if place > begin:
            end[path] = place
            break
    return {path: end[path] for path in sorted(end)}


def whole_lines_end(path: Path, begin: int, size_bytes: int) -> int:
    """The end of the last line that ends within so many bytes; `begin`: none does."""
    with open_regular(path) as file:
        _refuse_other_file(path, file, begin)
        at = begin + size_bytes
        while at > begin:
            least = max(begin, at - LOOK_BYTES)
            found = os.pread(file.fileno(), at - least, least).rfind(b"\n")
            if found >= 0:
                return least + found + 1
            at = least
    return begin


def first_line_end(path: Path, begin: int, size_bytes: int) -> int:
    """The end of the first line, before the byte `size_bytes`; `begin`: it has none."""
    with open_regular(path) as file:
        for at in range(begin, size_bytes, LOOK_BYTES):
            found = os.pread(file.fileno(), min(LOOK_BYTES, size_bytes - at), at).find(b"\n")
            if found >= 0:
                return at + found + 1
    return begin


def _refuse_other_file(path: Path, file: BinaryIO, begin: int) -> None:
    if begin and os.pread(file.fileno(), 1, begin - 1) != b"\n":
        raise AuditInputError(f"{path}: has no line's end at the byte {begin}, up to which it was read; {ANEW}")
