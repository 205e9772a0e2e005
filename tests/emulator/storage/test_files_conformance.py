"""One suite for both implementations of `Files`: what a broker may rely on in either world."""

from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.storage.disk import DiskFiles
from emulator.storage.files import (
    BadPath,
    DiskFailed,
    DiskFull,
    FileMissing,
    Files,
    NodeKilled,
    OperationHook,
)
from emulator.storage.memory_files import MemoryFiles
from emulator.storage.subdirectory_files import Within

LOG = "t-0/00000000000000000000.log"
EPOCHS = "t-0/leader-epoch-checkpoint"

MakeFiles = Callable[..., Files]


@pytest.fixture(params=["memory", "disk", "memory, one of several directories", "disk, one of several directories"])
def make_files(request: pytest.FixtureRequest, tmp_path: Path) -> MakeFiles:
    """Makes files with a room of `room_bytes` and an operation hook."""

    def make(room_bytes: int | None = None, hook: OperationHook | None = None) -> Files:
        made: MemoryFiles | DiskFiles
        if request.param.startswith("memory"):
            made = MemoryFiles(capacity_bytes=room_bytes, operation_hook=hook)
        else:
            made = DiskFiles(tmp_path / "log", quota_bytes=room_bytes, operation_hook=hook)
        if "several" not in request.param:
            return made
        made.operation_hook = None
        made.make_directory("d0")
        if hook is not None:
            made.operation_hook = lambda operation, path: hook(operation, path[3:])  # without "d0/"
        return Within(made, "d0")

    return make


@pytest.fixture
def files(make_files: MakeFiles) -> Files:
    made = make_files()
    made.make_directory("t-0")
    return made


def test_appends_add_up(files: Files) -> None:
    assert files.append(LOG, b"abc") == 3
    assert files.append(LOG, b"") == 3
    assert files.append(LOG, b"de") == 5
    assert files.size(LOG) == 5
    assert files.read(LOG, 0, 5) == b"abcde"


def test_a_read_returns_what_there_is(files: Files) -> None:
    files.append(LOG, b"abcde")
    assert files.read(LOG, 3, 100) == b"de"
    assert files.read(LOG, 1, 2) == b"bc"
    assert files.read(LOG, 5, 1) == b""
    assert files.read(LOG, 99, 1) == b""
    assert files.read(LOG, 0, 0) == b""
    assert type(files.read(LOG, 0, 1)) is bytes


def test_truncation_then_append(files: Files) -> None:
    files.append(LOG, b"abcde")
    files.truncate(LOG, 2)
    assert files.size(LOG) == 2
    assert files.append(LOG, b"X") == 3
    assert files.read(LOG, 0, 9) == b"abX"
    files.truncate(LOG, 3)
    files.fsync(LOG)
    assert files.size(LOG) == 3


def test_truncation_never_extends(files: Files) -> None:
    files.append(LOG, b"abc")
    with pytest.raises(AssertionError):
        files.truncate(LOG, 4)
    assert files.size(LOG) == 3


def test_an_atomic_write_replaces(files: Files) -> None:
    files.write_atomically(EPOCHS, b"first, longer")
    files.write_atomically(EPOCHS, b"second")
    assert files.read(EPOCHS, 0, 99) == b"second"
    assert files.list("t-0") == ["leader-epoch-checkpoint"]
    assert files.append(EPOCHS, b"!") == 7


def test_an_atomic_write_takes_the_place_of_a_left_over(files: Files) -> None:
    files.append(EPOCHS + ".tmp", b"left over by a crash, and longer")
    files.write_atomically(EPOCHS, b"new")
    assert files.read(EPOCHS, 0, 99) == b"new"


def test_an_atomic_write_after_appends_to_the_same_file(files: Files) -> None:
    files.append(EPOCHS, b"abc")
    files.write_atomically(EPOCHS, b"xy")
    assert files.size(EPOCHS) == 2
    assert files.append(EPOCHS, b"z") == 3
    assert files.read(EPOCHS, 0, 9) == b"xyz"


def test_renaming_files_and_directories(files: Files) -> None:
    files.append(LOG, b"abc")
    files.append("a", b"1")
    files.append("b", b"2")
    files.rename("a", "b")
    assert files.read("b", 0, 9) == b"1"
    files.rename("t-0", "t-0.gone-delete")
    assert files.list("") == ["b", "t-0.gone-delete"]
    moved = "t-0.gone-delete/00000000000000000000.log"
    assert files.append(moved, b"d") == 4
    assert not files.exists(LOG)
    with pytest.raises(FileMissing):
        files.append(LOG, b"x")


def test_what_is_missing(files: Files) -> None:
    for operation in (
        lambda: files.read("none", 0, 1),
        lambda: files.size("none"),
        lambda: files.truncate("none", 0),
        lambda: files.fsync("none"),
        lambda: files.delete("none"),
        lambda: files.rename("none", "other"),
        lambda: files.append("no/file", b""),
        lambda: files.write_atomically("no/file", b""),
        lambda: files.size("t-0"),
        lambda: files.append("t-0", b""),
        lambda: files.write_atomically("t-0", b""),
    ):
        with pytest.raises(FileMissing):
            operation()
    files.append("file", b"")
    with pytest.raises(FileMissing):
        files.append("file/below", b"")
    with pytest.raises(FileMissing):
        files.rename("file", "no/file")
    assert files.list("none") == files.list("file") == []
    assert not files.exists("none")
    assert files.exists("file") and files.exists("t-0") and files.exists("")


def test_what_is_in_the_way(files: Files) -> None:
    files.append(LOG, b"")
    files.append("file", b"")
    refused: list[Callable[[], object]] = [
        lambda: files.delete("t-0"),
        lambda: files.delete(""),
        lambda: files.rename("file", "t-0"),
        lambda: files.rename("t-0", "file"),
        lambda: files.rename("t-0", "t-0/below"),
        lambda: files.make_directory("file"),
        lambda: files.make_directory("file/below"),
    ]
    for operation in refused:
        with pytest.raises(DiskFailed):
            operation()
    files.delete(LOG)
    files.delete("t-0")
    assert files.list("") == ["file"]


def test_directories_with_their_parents(files: Files) -> None:
    files.make_directory("a/b/c")
    files.make_directory("a/b")
    files.make_directory("")
    assert files.list("a") == ["b"]
    assert files.list("a/b/c") == []
    files.append("a/b/z", b"")
    files.append("a/b/B", b"")
    assert files.list("a/b") == ["B", "c", "z"]
    files.fsync("a/b")
    files.fsync("")


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "t-0/../../up", "a//b", "./a", "t-0/", "a\0b"])
def test_no_path_leads_out(files: Files, path: str) -> None:
    for operation in (
        lambda: files.append(path, b"x"),
        lambda: files.read(path, 0, 1),
        lambda: files.size(path),
        lambda: files.truncate(path, 0),
        lambda: files.fsync(path),
        lambda: files.write_atomically(path, b"x"),
        lambda: files.delete(path),
        lambda: files.rename(path, "a"),
        lambda: files.rename("t-0", path),
        lambda: files.list(path),
        lambda: files.exists(path),
        lambda: files.make_directory(path),
    ):
        with pytest.raises(BadPath):
            operation()
    assert files.list("") == ["t-0"]


def test_a_full_disk_keeps_what_it_has(make_files: MakeFiles) -> None:
    files = make_files(room_bytes=10)
    files.append("log", b"12345678")
    with pytest.raises(DiskFull, match="log: 3 bytes more, 2 left"):
        files.append("log", b"abc")
    with pytest.raises(DiskFull):
        files.write_atomically("hw", b"abc")
    assert files.read("log", 0, 99) == b"12345678"
    assert files.list("") == ["log"]
    files.truncate("log", 4)
    assert files.append("log", b"abcdef") == 10


def test_the_hook_stands_before_every_step(make_files: MakeFiles) -> None:
    seen: list[tuple[str, str]] = []
    files = make_files(hook=lambda operation, path: seen.append((operation, path)))
    files.make_directory("t-0")
    files.append(LOG, b"abc")
    files.read(LOG, 0, 1)
    files.truncate(LOG, 1)
    files.fsync(LOG)
    files.fsync("t-0")
    files.write_atomically(EPOCHS, b"x")
    files.rename(LOG, "t-0/b")
    files.delete("t-0/b")
    assert seen == [
        ("make_directory", "t-0"),
        ("append", LOG),
        ("read", LOG),
        ("truncate", LOG),
        ("fsync", LOG),
        ("sync_directory", "t-0"),
        ("write", EPOCHS + ".tmp"),
        ("fsync", EPOCHS + ".tmp"),
        ("rename", EPOCHS + ".tmp"),
        ("sync_directory", "t-0"),
        ("rename", LOG),
        ("delete", "t-0/b"),
    ]


@pytest.mark.parametrize("step", range(4))
def test_a_node_that_dies_in_an_atomic_write_leaves_the_old_file_or_the_new(make_files: MakeFiles, step: int) -> None:
    """Docs/semantics.md 3: written to .tmp, fsync, atomic rename."""
    steps: list[str] = []

    def die(operation: str, path: str) -> None:
        steps.append(operation)
        if len(steps) == 5 + step:
            raise NodeKilled(f"before {operation} of {path}")

    files = make_files(hook=die)
    files.write_atomically("hw", b"old")
    with pytest.raises(NodeKilled, match=f"before {['write', 'fsync', 'rename', 'sync_directory'][step]} of"):
        files.write_atomically("hw", b"new")
    assert files.read("hw", 0, 9) == (b"old" if step < 3 else b"new")
    assert files.list("") == (["hw", "hw.tmp"] if step in (1, 2) else ["hw"])


@pytest.mark.parametrize("fault", [DiskFull, DiskFailed, NodeKilled])
def test_a_step_refused_by_the_hook_does_not_happen(make_files: MakeFiles, fault: type[Exception]) -> None:
    refused: set[str] = set()

    def hook(operation: str, path: str) -> None:
        if operation in refused:
            raise DiskFull(path, "refused") if fault is DiskFull else fault(path, "refused")

    files = make_files(hook=hook)
    files.append("log", b"abc")
    for step, operation in (
        ("append", lambda: files.append("log", b"d")),
        ("append", lambda: files.append("other", b"d")),
        ("truncate", lambda: files.truncate("log", 0)),
        ("delete", lambda: files.delete("log")),
        ("rename", lambda: files.rename("log", "other")),
        ("write", lambda: files.write_atomically("other", b"d")),
        ("make_directory", lambda: files.make_directory("d")),
        ("read", lambda: files.read("log", 0, 1)),
    ):
        refused.add(step)
        with pytest.raises(fault):
            operation()
        refused.clear()
    assert files.list("") == ["log"]
    assert files.read("log", 0, 9) == b"abc"
