"""Journal of the bytes that were synced on a disk without real fsyncs, beside its files.

An fsync of a node requests nothing of the device (`DiskFiles`), so the journal records what a real fsync would keep.
Each line is a size and a path: that many bytes of the file were durable then. A file that was cut, deleted or renamed
gets a line too, so that a new file of its name does not count as synced. The last line of a path counts. The journal is
rewritten when a node starts, with one line for each file that still counts.
"""

import os
from pathlib import Path

from emulator.regular_files import read_regular
from protocol.numbers import number_in

JOURNAL = ".synced"


class SyncedJournal:
    """Journal of the files under `root`; written by one process at a time."""

    def __init__(self, root: str) -> None:
        self._path = os.path.join(root, JOURNAL)
        self._descriptor = -1
        self._held: dict[str, int] = {}

    def synced(self, path: str, size_bytes: int) -> None:
        """Record that a whole file is durable. Raises OSError."""
        self._begin()
        self._note(path, size_bytes)

    def cut(self, path: str, size_bytes: int) -> None:
        """Record that a file was cut to this size, or (0) deleted. Raises OSError."""
        self._begin()
        if self._held.get(path, 0) > size_bytes:
            self._note(path, size_bytes)

    def _note(self, path: str, size_bytes: int) -> None:
        os.write(self._descriptor, f"{size_bytes} {path}\n".encode())
        self._held[path] = size_bytes

    def read(self) -> dict[str, int]:
        """{path: bytes that are durable}; a torn last line does not count. Raises OSError."""
        try:
            text = read_regular(Path(self._path))
        except FileNotFoundError:
            return {}
        found: dict[str, int] = {}
        for line in text.splitlines(keepends=True):
            size, _, path = line.partition(b" ")
            if path.endswith(b"\n") and (size_bytes := number_in(size)) is not None:
                found[path[:-1].decode(errors="surrogateescape")] = size_bytes
        return {path: size for path, size in found.items() if size}

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _begin(self) -> None:
        if self._descriptor >= 0:
            return
        self._held = self.read()
        fresh = self._path + ".new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(fresh, flags, 0o644)
        try:
            os.write(descriptor, "".join(f"{size} {path}\n" for path, size in self._held.items()).encode())
            os.rename(fresh, self._path)
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
