"""Files on disk, under one log directory that no path leads out of.

Descriptors for appending stay open; beyond a bound the least recently used is closed. Reads of other files open and
close. Only one process appends under a root at a time; any number of processes may read at the same time. A quota
stands for a disk of that size. Like a real full disk it refuses new bytes and keeps those it has.
"""

import contextlib
import errno
import os
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emulator.storage.files import (
    LOG_DIRECTORY,
    TEMPORARY_SUFFIX,
    BadPath,
    DiskFailed,
    DiskFull,
    FileMissing,
    OperationHook,
    check_path,
    directory_of,
)
from emulator.storage.log_directory import SEGMENT_SUFFIX
from emulator.storage.storage_faults import DiskFaults
from emulator.storage.synced_journal import JOURNAL, SyncedJournal

OPEN_FILES_MAX: Final = 64

_MISSING = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EISDIR))
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_OURS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags of every open: follow no link, wait for no pipe.

A node in a container may leave links and pipes in the way of the processes that read its disk.
"""
_READ = os.O_RDONLY | _OURS
_APPEND = os.O_RDWR | os.O_APPEND | _OURS
_REPLACE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _OURS


class _OpenFile:
    __slots__ = ("descriptor", "size_bytes")

    def __init__(self, descriptor: int, size_bytes: int) -> None:
        self.descriptor = descriptor
        self.size_bytes = size_bytes


def _no_sync(descriptor: int) -> None:
    """Sync nothing: the page cache survives the death of a process, and no more is promised."""


class DiskFiles:
    """`Files` under `root`, which is created if it is missing.

    `quota_bytes` bounds the sum of all files (None: the real disk's room); `operation_hook` as in memory. `syncs`
    False: an fsync requests nothing of the device. The emulator plays power losses of such a cluster: it cuts off a
    suffix, as the scenario or the seed says. A real fsync on a busy disk takes minutes and would only make the
    cluster's timers late. `synced_journal` records the bytes that a real fsync would keep.
    """

    def __init__(
        self,
        root: str | Path,
        *,
        quota_bytes: int | None = None,
        open_files_max: int = OPEN_FILES_MAX,
        operation_hook: OperationHook | None = None,
        syncs: bool = True,
    ) -> None:
        assert open_files_max >= 1
        self._sync = os.fsync if syncs else _no_sync
        self._syncs = syncs
        self.quota_bytes = quota_bytes
        self.operation_hook = operation_hook
        self.faults = DiskFaults()
        self._open: OrderedDict[str, _OpenFile] = OrderedDict()
        self._open_files_max = open_files_max
        self._durable: dict[str, int] | None = None
        if os.path.islink(root):
            raise DiskFailed(LOG_DIRECTORY, f"{root} is a symbolic link")
        with _reported(LOG_DIRECTORY):
            os.makedirs(root, exist_ok=True)
            self._root = os.path.realpath(root)
        self._synced = SyncedJournal(self._root)

    def append(self, path: str, data: bytes) -> int:
        self._before("append", path)
        self._demand_room(path, len(data))
        file = self._appending(path, create=True)
        try:
            _write(file.descriptor, data)
        except OSError as error:
            # An append happens whole or not at all. If truncate fails as well, the next operation reads the size anew.
            self._close(path)
            with _reported(path):
                os.truncate(self._real(path), file.size_bytes)
            raise _fault(path, error) from None
        file.size_bytes += len(data)
        return file.size_bytes

    def read(self, path: str, position: int, size_bytes: int) -> bytes:
        assert position >= 0 and size_bytes >= 0
        self._before("read", path)
        file = self._open.get(path)
        if file is not None:
            try:
                return _read(file.descriptor, position, size_bytes)
            except OSError as error:
                raise _fault(path, error) from None
        with _reported(path):
            self._demand_file(path)
            with _descriptor(self._real(path), _READ) as descriptor:
                return _read(descriptor, position, size_bytes)

    def size(self, path: str) -> int:
        file = self._open.get(path)
        if file is not None:
            return file.size_bytes
        self._demand_file(path)
        with _reported(path):
            return os.stat(self._real(path)).st_size

    def truncate(self, path: str, size_bytes: int) -> None:
        self._before("truncate", path)
        file = self._appending(path, create=False)
        assert 0 <= size_bytes <= file.size_bytes, f"{path}: {size_bytes} of {file.size_bytes} bytes"
        with _reported(path):
            os.ftruncate(file.descriptor, size_bytes)
        file.size_bytes = size_bytes
        if not self._syncs and path.endswith(SEGMENT_SUFFIX):
            with _reported(JOURNAL):
                self._synced.cut(path, size_bytes)
                self._durable = None

    def fsync(self, path: str) -> None:
        if os.path.isdir(self._real(path)):
            self._before("sync_directory", path)
            self._sync_directory(path)
            return
        self._before("fsync", path)
        file = self._appending(path, create=False)
        with _reported(path):
            self._sync(file.descriptor)
        # Segments alone: every other file is written under a temporary name and renamed, or is dispensable.
        if not self._syncs and path.endswith(SEGMENT_SUFFIX):
            with _reported(JOURNAL):
                self._synced.synced(path, file.size_bytes)
                self._durable = None

    def synced_bytes(self, path: str) -> int:
        """Bytes of a file that a power loss leaves in any case, with `syncs` False."""
        if self._durable is None:
            with _reported(JOURNAL):
                self._durable = self._synced.read()
        return self._durable.get(path, 0)

    def write_atomically(self, path: str, data: bytes) -> None:
        temporary = path + TEMPORARY_SUFFIX
        real, real_temporary = self._real(path), self._real(temporary)
        if os.path.isdir(real):
            raise FileMissing(path, "is a directory")
        self._before("write", temporary)
        replaced_bytes = os.stat(real_temporary).st_size if os.path.isfile(real_temporary) else 0
        self._demand_room(temporary, len(data) - replaced_bytes)
        self._close(temporary)
        self._close(path)
        with _reported(temporary), _descriptor(real_temporary, _REPLACE) as descriptor:
            _write(descriptor, data)
            self._before("fsync", temporary)
            self._sync(descriptor)
        self._before("rename", temporary)
        with _reported(path):
            os.rename(real_temporary, real)
        self._before("sync_directory", directory_of(path))
        self._sync_directory(directory_of(path))

    def delete(self, path: str) -> None:
        self._before("delete", path)
        if path == LOG_DIRECTORY:
            raise DiskFailed(path, "the directory is not empty")
        self._close(path)
        real = self._real(path)
        with _reported(path):
            if os.path.isdir(real):
                os.rmdir(real)
            else:
                os.unlink(real)
        if not self._syncs and path.endswith(SEGMENT_SUFFIX):
            with _reported(JOURNAL):
                self._synced.cut(path, 0)
                self._durable = None

    def rename(self, old: str, new: str) -> None:
        real_old, real_new = self._real(old), self._real(new)
        self._before("rename", old)
        if not os.path.lexists(real_old):
            raise FileMissing(old, "no such file")
        if os.path.isdir(real_new) or (os.path.isdir(real_old) and os.path.lexists(real_new)):
            raise DiskFailed(new, "the name is taken")
        for path in [path for path in self._open if path in (old, new) or path.startswith(old + "/")]:
            self._close(path)
        with _reported(new):
            os.rename(real_old, real_new)

    def list(self, directory: str) -> list[str]:
        if self.faults.any:
            self.faults.check("list", directory)
        try:
            return sorted(os.listdir(self._real(directory)))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise DiskFailed(directory, _reason(error)) from None

    def exists(self, path: str) -> bool:
        return os.path.lexists(self._real(path))

    def make_directory(self, path: str) -> None:
        real = self._real(path)
        self._before("make_directory", path)
        try:
            os.makedirs(real, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise DiskFailed(path, "a file is in the way") from None
        except OSError as error:
            raise _fault(path, error) from None

    def close(self) -> None:
        """Close the files open for appending; the next operation opens them again."""
        for path in list(self._open):
            self._close(path)
        self._synced.close()

    @property
    def open_files(self) -> int:
        return len(self._open)

    @property
    def used_bytes(self) -> int:
        """Bytes of all files, as a quota counts them."""
        used_bytes = 0
        for folder, _, names in os.walk(self._root):
            used_bytes += sum(os.lstat(os.path.join(folder, name)).st_size for name in names)
        return used_bytes

    def break_down(self, folder: str, fails: bool) -> int:
        """Make a folder ("": all) full, or with `fails` failing; return the bytes on the disk."""
        used_bytes = self.used_bytes
        if fails:
            self.faults.failing.add(folder)
        elif folder:
            self.faults.full.add(folder)
        else:
            self.quota_bytes = used_bytes
        return used_bytes

    def _before(self, operation: str, path: str) -> None:
        if self.operation_hook is not None:
            self.operation_hook(operation, path)
        if self.faults.any:
            self.faults.check(operation, path)

    def _real(self, path: str) -> str:
        """The path in the file system. Raises BadPath if it leads out, also through a symbolic link."""
        real = os.path.join(self._root, check_path(path)) if path else self._root
        if os.path.realpath(real) != real:
            raise BadPath(path, "leads through a symbolic link")
        return real

    def _demand_file(self, path: str) -> None:
        if os.path.isdir(self._real(path)):
            raise FileMissing(path, "is a directory")

    def _appending(self, path: str, *, create: bool) -> _OpenFile:
        file = self._open.get(path)
        if file is not None:
            self._open.move_to_end(path)
            return file
        self._demand_file(path)
        with _reported(path):
            descriptor = os.open(self._real(path), _APPEND | (os.O_CREAT if create else 0), 0o644)
            file = _OpenFile(descriptor, os.fstat(descriptor).st_size)
        self._open[path] = file
        if len(self._open) > self._open_files_max:
            self._close(next(iter(self._open)))
        return file

    def _close(self, path: str) -> None:
        file = self._open.pop(path, None)
        if file is not None:
            with _reported(path):
                os.close(file.descriptor)

    def _sync_directory(self, directory: str) -> None:
        with (
            _reported(directory),
            _descriptor(self._real(directory), _READ | os.O_DIRECTORY) as descriptor,
        ):
            self._sync(descriptor)

    def _demand_room(self, path: str, more_bytes: int) -> None:
        if self.quota_bytes is None:
            return
        used_bytes = self.used_bytes
        if used_bytes + more_bytes > self.quota_bytes:
            raise DiskFull(path, f"{more_bytes} bytes more, {self.quota_bytes - used_bytes} left")


def _write(descriptor: int, data: bytes) -> None:
    """Write all of it: one write may take only a part."""
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


def _read(descriptor: int, position: int, size_bytes: int) -> bytes:
    """Read all that exists: one pread may return only a part."""
    parts: list[bytes] = []
    while size_bytes > 0:
        part = os.pread(descriptor, size_bytes, position)
        if not part:
            break
        parts.append(part)
        position += len(part)
        size_bytes -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


@contextlib.contextmanager
def _descriptor(real: str, flags: int) -> Iterator[int]:
    descriptor = os.open(real, flags, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _reported(path: str) -> Iterator[None]:
    """Map the operating system's errors to StorageErrors."""
    try:
        yield
    except OSError as error:
        raise _fault(path, error) from None


def _fault(path: str, error: OSError) -> FileMissing | DiskFull | DiskFailed:
    if error.errno in _MISSING:
        return FileMissing(path, _reason(error))
    if error.errno in _FULL:
        return DiskFull(path, _reason(error))
    return DiskFailed(path, _reason(error))


def _reason(error: OSError) -> str:
    return (error.strerror or "input/output error").lower()
