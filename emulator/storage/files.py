"""The few file operations that Kafka relies on, as an interface with two implementations.

Paths are relative to one log directory, with "/" between names: `t-0/00000000000000000000.log`. "" is the log directory
itself. Every operation is synchronous. It happens whole or raises: a refused append leaves nothing behind. Between two
primitive steps a node may die, lose power or meet a full or failing disk. `write_atomically` is several steps
(docs/semantics.md 3: .tmp, fsync, rename). The errors are faults of the world, which the broker handles.
"""

from collections.abc import Callable
from typing import Final, Protocol

LOG_DIRECTORY: Final = ""
TEMPORARY_SUFFIX: Final = ".tmp"


OperationHook = Callable[[str, str], None]
"""Called with (operation, path) before each step.

May raise NodeKilled, DiskFull or DiskFailed.

Steps: append, read, truncate, write, fsync, rename, delete, make_directory, sync_directory. A step whose hook raises
does not happen.
"""


class StorageError(Exception):
    """An operation on `path` that did not happen, with its reason."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path or '(log directory)'}: {reason}")
        self.path = path
        self.reason = reason


class FileMissing(StorageError):
    """No file at `path`, or no directory to put it in."""


class DiskFull(StorageError):
    """No space for the bytes; none of them was written."""


class DiskFailed(StorageError):
    """The device or file system refused (Kafka's error 56, KAFKA_STORAGE_ERROR)."""


class BadPath(StorageError):
    """A path that is absolute, leads out of the log directory, or has an empty or dotted part."""


class NodeKilled(Exception):
    """Raised by an operation hook: the node dies before this step.

    Not a StorageError: no caller may handle it.
    """


class Files(Protocol):
    """One log directory. Raises StorageErrors; an argument out of range is a bug and asserted."""

    def append(self, path: str, data: bytes) -> int:
        """Append to the file, creating it but not its directory; return the new size.

        Raises DiskFull.
        """

    def read(self, path: str, position: int, size_bytes: int) -> bytes:
        """Read at most `size_bytes` from `position`; fewer, or none, at the end of the file."""

    def size(self, path: str) -> int:
        """Size in bytes. Raises FileMissing."""

    def truncate(self, path: str, size_bytes: int) -> None:
        """Cut to `size_bytes`, at most the present size."""

    def fsync(self, path: str) -> None:
        """Make the bytes of a file, or the names in a directory, survive power loss."""

    def write_atomically(self, path: str, data: bytes) -> None:
        """Replace or create the file in four steps.

        Write `path`.tmp, sync it, rename it, sync the directory.
        """

    def delete(self, path: str) -> None:
        """Remove a file or an empty directory."""

    def rename(self, old: str, new: str) -> None:
        """Rename a file (replacing a file at `new`) or a directory (to a free name)."""

    def list(self, directory: str) -> list[str]:
        """Sorted names of the files and directories in it; none if it is missing."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory."""

    def make_directory(self, path: str) -> None:
        """Create the directory and its parents; nothing if it exists."""


def check_path(path: str) -> str:
    """`path`, if it stays within the log directory. Raises BadPath."""
    if path.startswith("/"):
        raise BadPath(path, "is absolute; paths are relative to the log directory")
    if path and any(part in ("", ".", "..") for part in path.split("/")):
        raise BadPath(path, "has an empty part, '.' or '..'")
    if "\0" in path:
        raise BadPath(path.replace("\0", "\\0"), "has a zero byte")
    return path


def directory_of(path: str) -> str:
    """The directory that holds `path`; "" for a file directly in the log directory."""
    return path.rpartition("/")[0]
