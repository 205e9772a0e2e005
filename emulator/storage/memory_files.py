"""Files in memory with the bytes and names that would survive a power loss.

A kill loses nothing: the operating system still holds every byte. A power loss removes what was not synced:

- of a file, any suffix beyond the size at its last fsync, as the caller chooses;
- of the names, any last part of the creations, renames and deletions that no fsync made durable. They vanish in reverse
  order, because a journalling file system commits them in order. An fsync of the directory makes them durable, an fsync
  of a file its creation.

Three simplifications: truncation is durable at once; so are directories and their renames; there is no periodic commit
of the file system, only a bound on pending name changes.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Final

from emulator.storage.files import (
    LOG_DIRECTORY,
    TEMPORARY_SUFFIX,
    DiskFailed,
    DiskFull,
    FileMissing,
    OperationHook,
    check_path,
    directory_of,
)
from emulator.storage.storage_faults import DiskFaults

Keep = Callable[[str, int, int], int] | Mapping[str, int]
"""Surviving bytes of a file: function of (path, synced bytes, written bytes), or a mapping.

Files that are missing from a mapping keep their synced bytes.
"""

PENDING_NAMES_MAX: Final = 1024
"""Limit of undurable name changes.

Beyond it the oldest becomes durable, as a journal would commit it.
"""


class _File:
    __slots__ = ("content", "synced_bytes")

    def __init__(self, content: bytes | bytearray = b"", synced_bytes: int = 0) -> None:
        self.content = bytearray(content)
        self.synced_bytes = synced_bytes


_NameChange = tuple[tuple[str, _File | None], ...]
"""Undo entry of a name change: (path, file named before or None), for each path touched."""


class MemoryFiles:
    """`Files` in memory; `capacity_bytes` bounds the sum of all files (None: no bound)."""

    def __init__(self, *, capacity_bytes: int | None = None, operation_hook: OperationHook | None = None) -> None:
        self.capacity_bytes = capacity_bytes
        self.operation_hook = operation_hook
        self.faults = DiskFaults()
        self._files: dict[str, _File] = {}
        self._directories = {LOG_DIRECTORY}
        self._pending: list[_NameChange] = []

    def append(self, path: str, data: bytes) -> int:
        file = self._files.get(path)
        faults = self.faults
        hindered = self.operation_hook is not None or faults.full or faults.failing
        if file is None or hindered or self.capacity_bytes is not None:
            self._before("append", path)
            if self.capacity_bytes is not None:
                self._demand_room(path, len(data))
            file = self._files.get(path) or self._create(path)
        content = file.content
        content += data
        return len(content)

    @contextmanager
    def unwatched(self) -> Generator[None, None, None]:
        """Let the world read the files without the operation hook and without disk faults.

        Such a read is no operation of the node: it cannot kill the node, and it succeeds on a broken disk.
        """
        hook, self.operation_hook = self.operation_hook, None
        faults, self.faults = self.faults, DiskFaults()
        try:
            yield
        finally:
            self.operation_hook, self.faults = hook, faults

    def read(self, path: str, position: int, size_bytes: int) -> bytes:
        assert position >= 0 and size_bytes >= 0
        self._before("read", path)
        return bytes(self._file(path).content[position : position + size_bytes])

    def size(self, path: str) -> int:
        return len(self._file(path).content)

    def truncate(self, path: str, size_bytes: int) -> None:
        self._before("truncate", path)
        file = self._file(path)
        assert 0 <= size_bytes <= len(file.content), f"{path} cut to {size_bytes} of {len(file.content)} bytes"
        del file.content[size_bytes:]
        file.synced_bytes = min(file.synced_bytes, size_bytes)

    def fsync(self, path: str) -> None:
        if path in self._directories:
            self._before("sync_directory", path)
            self._sync_directory(path)
            return
        self._before("fsync", path)
        self._sync_file(path, self._file(path))

    def write_atomically(self, path: str, data: bytes) -> None:
        if check_path(path) in self._directories:
            raise FileMissing(path, "is a directory")
        temporary = path + TEMPORARY_SUFFIX
        self._before("write", temporary)
        replaced = self._files.get(temporary)
        self._demand_room(temporary, len(data) - (len(replaced.content) if replaced else 0))
        if replaced is None:
            file = self._create(temporary)
        else:
            file = replaced
            file.synced_bytes = 0
        file.content = bytearray(data)
        self._before("fsync", temporary)
        self._sync_file(temporary, file)
        self._before("rename", temporary)
        self._rename_file(temporary, path)
        self._before("sync_directory", directory_of(path))
        self._sync_directory(directory_of(path))

    def delete(self, path: str) -> None:
        self._before("delete", path)
        if path in self._directories:
            if path == LOG_DIRECTORY or self.list(path):
                raise DiskFailed(path, "the directory is not empty")
            self._directories.remove(path)
            return
        file = self._file(path)
        del self._files[path]
        self._remember(((path, file),))

    def rename(self, old: str, new: str) -> None:
        check_path(new)
        self._before("rename", old)
        if old in self._directories:
            self._rename_directory(old, new)
            return
        self._file(old)
        if new in self._directories:
            raise DiskFailed(new, "the name is taken")
        if directory_of(new) not in self._directories:
            raise FileMissing(new, "its directory does not exist")
        self._rename_file(old, new)

    def list(self, directory: str) -> list[str]:
        if self.faults.any:
            self.faults.check("list", directory)
        prefix = f"{check_path(directory)}/" if directory else ""
        start = len(prefix)
        everything = (*self._files, *self._directories)
        below = (path[start:] for path in everything if path.startswith(prefix))
        return sorted(name for name in below if name and "/" not in name)

    def exists(self, path: str) -> bool:
        return path in self._files or check_path(path) in self._directories

    def make_directory(self, path: str) -> None:
        self._before("make_directory", path)
        made = ""
        for part in check_path(path).split("/"):
            made = f"{made}/{part}" if made else part
            if made in self._files:
                raise DiskFailed(made, "a file is in the way")
            self._directories.add(made)

    def synced_bytes(self, path: str) -> int:
        """Bytes of the file that survive power loss in any case."""
        return self._file(path).synced_bytes

    @property
    def used_bytes(self) -> int:
        """Bytes of all files."""
        return sum(len(file.content) for file in self._files.values())

    @property
    def name_changes_pending(self) -> int:
        """Number of creations, renames and deletions that power loss may undo."""
        return len(self._pending)

    def power_loss(self, keep: Keep, *, name_changes_kept: int | None = None) -> None:
        """Leave the bytes and names that survive; all of them are durable then.

        `name_changes_kept`: number of the pending name changes, oldest first, that survive (None: all). Raises
        ValueError when `keep` returns less than was synced or more than was written.
        """
        kept = len(self._pending) if name_changes_kept is None else name_changes_kept
        if not 0 <= kept <= len(self._pending):
            raise ValueError(f"{kept} name changes kept of {len(self._pending)}")
        survivors = dict(self._files)
        for change in reversed(self._pending[kept:]):
            for path, before in change:
                if before is None:
                    survivors.pop(path, None)
                else:
                    survivors[path] = before
        sizes = {path: _surviving_bytes(keep, path, file) for path, file in sorted(survivors.items())}
        self._pending.clear()
        # Fresh files, so that two names which came to share a file by an undone rename are separate again.
        self._files = {
            path: _File(survivors[path].content[:size_bytes], size_bytes) for path, size_bytes in sizes.items()
        }

    def copy(self) -> "MemoryFiles":
        """An independent copy, pending changes included, without the operation hook."""
        copied = MemoryFiles(capacity_bytes=self.capacity_bytes)
        twins: dict[int, _File] = {}

        def twin(file: _File) -> _File:
            return twins.setdefault(id(file), _File(file.content, file.synced_bytes))

        copied._files = {path: twin(file) for path, file in self._files.items()}
        copied._directories = set(self._directories)
        copied._pending = [
            tuple((path, before and twin(before)) for path, before in change) for change in self._pending
        ]
        return copied

    def _before(self, operation: str, path: str) -> None:
        if self.operation_hook is not None:
            self.operation_hook(operation, path)
        faults = self.faults
        if faults.full or faults.failing:
            faults.check(operation, path)

    def _file(self, path: str) -> _File:
        file = self._files.get(path)
        if file is None:
            check_path(path)
            raise FileMissing(path, "is a directory" if path in self._directories else "no such file")
        return file

    def _create(self, path: str) -> _File:
        check_path(path)
        if path in self._directories:
            raise FileMissing(path, "is a directory")
        if directory_of(path) not in self._directories:
            raise FileMissing(path, "its directory does not exist")
        file = self._files[path] = _File()
        self._remember(((path, None),))
        return file

    def _demand_room(self, path: str, more_bytes: int) -> None:
        if self.capacity_bytes is None:
            return
        used_bytes = self.used_bytes
        if used_bytes + more_bytes > self.capacity_bytes:
            raise DiskFull(path, f"{more_bytes} bytes more, {self.capacity_bytes - used_bytes} left")

    def _sync_file(self, path: str, file: _File) -> None:
        file.synced_bytes = len(file.content)
        if self._pending:
            created = ((path, None),)
            self._pending = [change for change in self._pending if change != created]

    def _sync_directory(self, directory: str) -> None:
        self._pending = [
            change for change in self._pending if all(directory_of(path) != directory for path, _ in change)
        ]

    def _rename_file(self, old: str, new: str) -> None:
        replaced = self._files.get(new)
        file = self._files.pop(old)
        self._files[new] = file
        self._remember(((old, file), (new, replaced)))

    def _rename_directory(self, old: str, new: str) -> None:
        if self.exists(new):
            raise DiskFailed(new, "the name is taken")
        if directory_of(new) not in self._directories:
            raise FileMissing(new, "its directory does not exist")
        if new.startswith(old + "/"):
            raise DiskFailed(new, "a directory cannot move into itself")

        def moved(path: str) -> str:
            return new + path[len(old) :] if path == old or path.startswith(old + "/") else path

        self._files = {moved(path): file for path, file in self._files.items()}
        self._directories = {moved(path) for path in self._directories}
        self._pending = [tuple((moved(path), before) for path, before in change) for change in self._pending]

    def _remember(self, change: _NameChange) -> None:
        self._pending.append(change)
        if len(self._pending) > PENDING_NAMES_MAX:
            del self._pending[0]


def _surviving_bytes(keep: Keep, path: str, file: _File) -> int:
    written = len(file.content)
    kept = keep(path, file.synced_bytes, written) if callable(keep) else keep.get(path, file.synced_bytes)
    if not file.synced_bytes <= kept <= written:
        raise ValueError(f"{path}: {kept} bytes kept, possible are {file.synced_bytes} to {written}")
    return kept
