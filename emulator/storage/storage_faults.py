"""Disks broken on purpose: folders of a node's disk that are full, or answer with errors."""

from emulator.storage.files import LOG_DIRECTORY, DiskFailed, DiskFull

GROWING = frozenset({"append", "write"})
"""Operations that need free space."""


class DiskFaults:
    """`full`, `failing`: folders ("": the whole disk). Checked before each operation."""

    __slots__ = ("failing", "full")

    def __init__(self) -> None:
        self.full: set[str] = set()
        self.failing: set[str] = set()

    @property
    def any(self) -> bool:
        return bool(self.full or self.failing)

    def check(self, operation: str, path: str) -> None:
        """Raises DiskFailed, DiskFull."""
        if _within(self.failing, path):
            raise DiskFailed(path, "input/output error")
        if operation in GROWING and _within(self.full, path):
            raise DiskFull(path, "no space left on device")

    def made_room(self) -> None:
        """Free space on the disk of a node that is started again. Failing folders go on failing."""
        self.full.clear()

    def replaced(self, folder: str) -> None:
        """Remove the faults of a folder ("": of every folder) whose disk was replaced."""
        for faults in (self.full, self.failing):
            faults.difference_update({folder} if folder != LOG_DIRECTORY else set(faults))


def _within(folders: set[str], path: str) -> bool:
    return any(folder in (LOG_DIRECTORY, path) or path.startswith(f"{folder}/") for folder in folders)
