"""One of several log directories on a node's disk, as `Files` with paths of their own.

Errors keep the whole path, folder included: they name the directory that failed.
"""

from emulator.storage.files import Files


class Within:
    """`Files` in the folder `name` of `files`."""

    __slots__ = ("_files", "name")

    def __init__(self, files: Files, name: str) -> None:
        self._files = files
        self.name = name

    def _path(self, path: str) -> str:
        return f"{self.name}/{path}" if path else self.name

    def append(self, path: str, data: bytes) -> int:
        return self._files.append(self._path(path), data)

    def read(self, path: str, position: int, size_bytes: int) -> bytes:
        return self._files.read(self._path(path), position, size_bytes)

    def size(self, path: str) -> int:
        return self._files.size(self._path(path))

    def truncate(self, path: str, size_bytes: int) -> None:
        self._files.truncate(self._path(path), size_bytes)

    def fsync(self, path: str) -> None:
        self._files.fsync(self._path(path))

    def write_atomically(self, path: str, data: bytes) -> None:
        self._files.write_atomically(self._path(path), data)

    def delete(self, path: str) -> None:
        self._files.delete(self._path(path))

    def rename(self, old: str, new: str) -> None:
        self._files.rename(self._path(old), self._path(new))

    def list(self, directory: str) -> list[str]:
        return self._files.list(self._path(directory))

    def exists(self, path: str) -> bool:
        return self._files.exists(self._path(path))

    def make_directory(self, path: str) -> None:
        self._files.make_directory(self._path(path))
