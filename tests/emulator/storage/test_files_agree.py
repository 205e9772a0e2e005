"""Memory and disk do the same whatever is asked of them, errors included."""

import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from emulator.storage.disk import DiskFiles
from emulator.storage.files import FileMissing, Files, StorageError
from emulator.storage.memory_files import MemoryFiles

# Few names, some of them inside others, so that files and directories get into each other's way.
PATHS = ("", "a", "b", "d", "d/a", "d/b.log", "d/e", "d/e/a", "../a")
paths = st.sampled_from(PATHS)
ROOM_BYTES = 300


def seen(path: str, files: Files) -> tuple[bool, list[str], bytes | None]:
    """All that can be seen of `path`."""
    try:
        content = files.read(path, 0, files.size(path))
    except FileMissing:
        content = None
    return files.exists(path), files.list(path), content


class MemoryAndDisk(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.memory = MemoryFiles(capacity_bytes=ROOM_BYTES)
        # One descriptor at a time, so that closing and opening again is the rule.
        self.disk = DiskFiles(self.folder.name, quota_bytes=ROOM_BYTES, open_files_max=1)

    def teardown(self) -> None:
        self.disk.close()
        self.folder.cleanup()

    def both(self, operation: Callable[[Files], Any]) -> Any:
        outcomes: list[Any] = []
        for files in (self.memory, self.disk):
            try:
                outcomes.append(operation(files))
            except StorageError as error:
                outcomes.append(type(error))
        assert outcomes[0] == outcomes[1]
        return outcomes[0]

    @rule(path=paths, data=st.binary(max_size=80))
    def append(self, path: str, data: bytes) -> None:
        self.both(lambda files: files.append(path, data))

    @rule(path=paths, position=st.integers(0, 100), size_bytes=st.integers(0, 100))
    def read(self, path: str, position: int, size_bytes: int) -> None:
        self.both(lambda files: files.read(path, position, size_bytes))

    @rule(path=paths, share=st.floats(0, 1))
    def truncate(self, path: str, share: float) -> None:
        size = self.both(lambda files: files.size(path))
        size_bytes = int(size * share) if isinstance(size, int) else 0
        self.both(lambda files: files.truncate(path, size_bytes))

    @rule(path=paths)
    def fsync(self, path: str) -> None:
        self.both(lambda files: files.fsync(path))

    @rule(path=paths, data=st.binary(max_size=80))
    def write_atomically(self, path: str, data: bytes) -> None:
        if path:
            self.both(lambda files: files.write_atomically(path, data))

    @rule(path=paths)
    def delete(self, path: str) -> None:
        self.both(lambda files: files.delete(path))

    @rule(old=paths, new=paths)
    def rename(self, old: str, new: str) -> None:
        if old and new:
            self.both(lambda files: files.rename(old, new))

    @rule(path=paths)
    def make_directory(self, path: str) -> None:
        self.both(lambda files: files.make_directory(path))

    @rule()
    def power_stays(self) -> None:
        """Losing power with everything synced by luck changes nothing that can be read."""
        self.memory.power_loss(lambda path, synced_bytes, written_bytes: written_bytes)

    @rule()
    def copied(self) -> None:
        self.memory = self.memory.copy()

    @invariant()
    def look_the_same(self) -> None:
        for path in PATHS:
            self.both(partial(seen, path))


MemoryAndDisk.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestMemoryAndDisk = MemoryAndDisk.TestCase
