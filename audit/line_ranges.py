"""Byte ranges of event files, their whole lines, and smaller pieces of refused lines.

A range has the lines that begin in it, so neighbours share no line and lose none. A line of more than LINE_BYTES_MAX is
never held in memory: it is the last of its range, because no range is that long, and only its place is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from audit.blocks import Source
from emulator.regular_files import NotRegular, open_regular
from protocol.events.event_parsing import LINE_BYTES_MAX

BLOCK_BYTES: Final = 4 << 20
PIECE_BYTES: Final = 64 << 10
"""Size of the pieces in which a refused block is tried again."""
SKIP_BYTES: Final = 1 << 16
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class Range(NamedTuple):
    """The lines that begin in these bytes of a file.

    `key`: the run's key (`audit.event_lines.run_keys`)."""

    path: Path
    source: Source
    key: str
    begin: int
    end: int


class Block(NamedTuple):
    """Whole lines, each with its end.

    `begin`: byte of the file at which the first begins. `unended`: it is the file's last line, which has no end there.
    """

    lines: bytes
    of: Range
    begin: int
    unended: bool = False


class RangeLines(NamedTuple):
    """Lines of a range.

    `too_long`: byte at which a line of more than LINE_BYTES_MAX begins, if there is one."""

    blocks: list[Block]
    too_long: int | None = None


def ranges_of(path: Path, source: Source, key: str, begin: int, end: int) -> list[Range]:
    """The ranges of a file between two bytes, at most BLOCK_BYTES each."""
    return [Range(path, source, key, at, min(at + BLOCK_BYTES, end)) for at in range(begin, end, BLOCK_BYTES)]


def packed(ranges: Iterator[Range]) -> list[Range]:
    """As many ranges as make a block; none are left: an empty list."""
    together: list[Range] = []
    size_bytes = 0
    for one in ranges:
        together.append(one)
        size_bytes += one.end - one.begin
        if size_bytes >= BLOCK_BYTES:
            break
    return together


def lines_of(one: Range) -> RangeLines:
    """Lines of a range; the file's last line apart, if it has no end.

    Raises OSError, also for a file that became shorter.
    """
    with open_regular(one.path) as file:
        if os.fstat(file.fileno()).st_size < one.end:
            raise NotRegular(one.path, "became shorter while it was read")
        at = _first_line(file, one)
        text = file.read(one.end - at) if at < one.end else b""
        if text and not text.endswith(b"\n"):
            text += file.readline(LINE_BYTES_MAX + 1 - (len(text) - text.rfind(b"\n") - 1))
    last_at = text.rfind(b"\n", 0, len(text) - 1) + 1
    too_long = None
    if len(text) - last_at > LINE_BYTES_MAX:
        text, too_long = text[:last_at], at + last_at
    if not one.begin and text.startswith(BYTE_ORDER_MARK):
        text, at = text.removeprefix(BYTE_ORDER_MARK), at + len(BYTE_ORDER_MARK)
    whole, end, last = text.rpartition(b"\n")
    blocks = [Block(whole + end, one, at)] if end else []
    if last:
        blocks.append(Block(last + b"\n", one, at + len(whole + end), unended=True))
    return RangeLines(blocks, too_long)


def _first_line(file: BinaryIO, one: Range) -> int:
    """Move to the first line that begins in the range.

    Returns its place; a place beyond the range: there is none."""
    if one.begin:
        file.seek(one.begin - 1)
        while file.tell() < one.end and (line := file.readline(SKIP_BYTES)) and not line.endswith(b"\n"):
            pass
    return file.tell()


def refused(blocks: Sequence[Block], take: Callable[[Sequence[Block]], bool]) -> Iterator[Block]:
    """Have all blocks taken at once, or each half by itself, or a single block in pieces.

    Yields each refused piece when the lines before it have been taken. `take`: takes all or none, and returns whether
    it did.
    """
    if take(blocks):
        return
    if len(blocks) > 1:
        half = len(blocks) // 2
        yield from refused(blocks[:half], take)
        yield from refused(blocks[half:], take)
        return
    [block] = blocks
    for piece in pieces_of(block, PIECE_BYTES):
        if not take([piece]):
            yield piece


def pieces_of(block: Block, size_bytes: int) -> Iterator[Block]:
    """Pieces of a block, as blocks."""
    begin = block.begin
    for piece in pieces(block.lines, size_bytes):
        yield block._replace(lines=piece, begin=begin)
        begin += len(piece)


def pieces(lines: bytes, size_bytes: int) -> Iterator[bytes]:
    """Pieces of whole lines, each of that size or a line longer."""
    begin = 0
    while begin < len(lines):
        end = lines.find(b"\n", min(begin + size_bytes, len(lines)) - 1) + 1
        yield lines[begin:end]
        begin = end
