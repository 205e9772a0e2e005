"""Lines of a collected file, plain or compressed by gzip, in bounded memory.

A line of more than LINE_BYTES_MAX is left out and counted: what follows it is read. A compressed file that expands more
than EXPANSION_MAX times is not read further.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emulator.regular_files import open_regular

CHUNK_BYTES: Final = 1 << 20
LINE_BYTES_MAX: Final = 1 << 20
"""Kafka's longest lines, such as the settings at a start, have some 10 KiB."""
EXPANSION_MAX: Final = 500
EXPANSION_BYTES_MIN: Final = 256 << 20
"""A file that expands to less is read in any case."""
GZIP_WINDOW: Final = zlib.MAX_WBITS | 16
GZIP_SUFFIX: Final = ".gz"


class DamagedArchive(ValueError):
    """A compressed file that is none, ends early or expands too far.

    The message begins with its path.
    """


class ByteLines:
    """Blocks of whole lines of a file.

    `too_long`: lines left out so far; `read_bytes`: of the file, for progress.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.too_long: list[int] = []
        self.read_bytes = 0

    def blocks(self) -> Iterator[list[bytes]]:
        """Lists of lines without their ends; b"" in place of a line that is too long.

        Raises DamagedArchive, OSError.
        """
        rest = b""
        number = 0
        skipping = False
        for chunk in self._chunks():
            if skipping:
                _, end, chunk = chunk.partition(b"\n")
                if not end:
                    continue
                skipping = False
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            if lines and len(lines[0]) > LINE_BYTES_MAX:  # a chunk is shorter, so no other line can be
                self.too_long.append(number + 1)
                lines[0] = b""
            if len(rest) > LINE_BYTES_MAX:
                lines.append(b"")
                self.too_long.append(number + len(lines))
                rest, skipping = b"", True
            number += len(lines)
            yield lines
        if rest and not skipping:
            yield [rest]

    def _chunks(self) -> Iterator[bytes]:
        with open_regular(self.path) as file:
            if not self.path.name.endswith(GZIP_SUFFIX):
                while chunk := file.read(CHUNK_BYTES):
                    self.read_bytes += len(chunk)
                    yield chunk
                return
            yield from self._expanded(iter(lambda: file.read(1 << 16), b""))

    def _expanded(self, compressed: Iterator[bytes]) -> Iterator[bytes]:
        expander = zlib.decompressobj(GZIP_WINDOW)
        expanded = 0
        within = False
        for data in compressed:
            self.read_bytes += len(data)
            while data:
                try:
                    chunk = expander.decompress(data, CHUNK_BYTES)
                except zlib.error as error:
                    raise DamagedArchive(f"{self.path}: is no gzip file, or damaged: {error}") from error
                within = not expander.eof
                expanded += len(chunk)
                if expanded > max(EXPANSION_BYTES_MIN, EXPANSION_MAX * self.read_bytes):
                    raise DamagedArchive(
                        f"{self.path}: expands more than {EXPANSION_MAX} times; unpack it if it is a log"
                    )
                if chunk:
                    yield chunk
                data = expander.unconsumed_tail
                if expander.eof:  # a further member: files that were joined
                    data = expander.unused_data
                    expander = zlib.decompressobj(GZIP_WINDOW)
        if within:
            raise DamagedArchive(f"{self.path}: ends early; what precedes its end was read")
