"""Safe reading and writing of files in a directory that others may write to.

Reads only regular files, with a bound; writes whole files.

A run's directory may come from anywhere, and the nodes of a cluster of containers write into theirs. A name there may
be a link to any file of this machine, a silent pipe, or an endless device. So nothing is read through a symbolic link,
only regular files are read, and a written file replaces any other one of its name.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

JSON_BYTES_MAX: Final = 64 << 20
"""Of settings, observations and verdicts: a run of an hour has a few MiB."""
_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotRegular(OSError):
    """A name that stands for something else than a regular file, or for one that is too long."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(0, what, str(path))


def open_regular(path: Path, *, follow: bool = False) -> BinaryIO:
    """Open a regular file. Raises NotRegular, OSError.

    `follow`: through symbolic links, for a path from a user.
    """
    if not follow and path.is_symlink():
        raise NotRegular(path, "is a symbolic link; only regular files are read")
    descriptor = os.open(path, _READ | (0 if follow else os.O_NOFOLLOW))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotRegular(path, "is no regular file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, bytes_max: int = JSON_BYTES_MAX, *, follow: bool = False) -> bytes:
    """All of it. Raises NotRegular, also for a longer one; OSError."""
    with open_regular(path, follow=follow) as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise NotRegular(path, f"is larger than {bytes_max} bytes, which no such file is")
    return data


def other_than_regular(path: Path) -> str:
    """Kind of an unreadable thing at a path: `is a directory`.

    "" for a regular file, or none.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    return "is a directory" if stat.S_ISDIR(mode) else "" if stat.S_ISREG(mode) else "is no regular file"


def lines_of(file: BinaryIO, bytes_max: int) -> Iterator[bytes]:
    """Lines with their ends; longer ones are left out."""
    while line := file.readline(bytes_max + 1):
        if len(line) <= bytes_max:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(bytes_max)


def refuse_foreign_link(folder: Path) -> None:
    """A folder may be a symbolic link that we, or root, have made. Raises NotRegular, OSError."""
    about = folder.lstat()
    if stat.S_ISLNK(about.st_mode) and about.st_uid not in (0, os.geteuid()):
        raise NotRegular(folder, "is another user's symbolic link")


def reason(error: OSError) -> str:
    """Text of an error, without its number and without the name, which the caller knows."""
    return error.strerror or str(error)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Add the file's name to errors within: an error of a full disk does not have it."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def write_whole(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file atomically. Raises OSError.

    An earlier file of that name is replaced, never written through. A device such as /dev/null or /dev/stdout is
    written to, because to replace it would take it from every program.
    """
    if _is_device(path):
        path.write_bytes(data)
        return
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(partial, _NEW, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        partial.replace(path)
    except BaseException as error:  # an interrupt, too, leaves nothing beside
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(path), None
        raise


def _is_device(path: Path) -> bool:
    """Whether the path is a character device, or in /dev without a regular file behind it."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or (path.parent == Path("/dev") and not stat.S_ISREG(mode))
