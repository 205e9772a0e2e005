"""Files on disk: what only a real file system has."""

import errno
import os
from pathlib import Path

import pytest

from emulator.storage.disk import DiskFiles
from emulator.storage.files import BadPath, DiskFailed, DiskFull, FileMissing


def test_the_files_are_plain_files(tmp_path: Path) -> None:
    files = DiskFiles(tmp_path / "data" / "broker-0")
    files.make_directory("t-0")
    files.append("t-0/0.log", b"abc")
    files.write_atomically("hw", b"0\n0\n")
    assert (tmp_path / "data/broker-0/t-0/0.log").read_bytes() == b"abc"
    assert (tmp_path / "data/broker-0/hw").read_bytes() == b"0\n0\n"


def test_what_one_wrote_the_next_reads(tmp_path: Path) -> None:
    DiskFiles(tmp_path).append("log", b"abc")
    restarted = DiskFiles(tmp_path)
    assert restarted.size("log") == 3
    assert restarted.append("log", b"d") == 4


def test_open_descriptors_are_bounded(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    files = DiskFiles(tmp_path, open_files_max=3)
    for round_number in range(2):
        for index in range(20):
            assert files.append(f"log-{index}", b"x") == round_number + 1
            assert files.open_files <= 3
    assert len(os.listdir("/proc/self/fd")) == before + 3
    files.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert files.append("log-0", b"x") == 3
    files.close()


def test_a_symbolic_link_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"outside")
    files = DiskFiles(tmp_path / "root")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "root" / "folder").symlink_to(tmp_path)
    for path in ("link", "folder/secret"):
        with pytest.raises(BadPath, match="symbolic link"):
            files.read(path, 0, 9)
        with pytest.raises(BadPath, match="symbolic link"):
            files.append(path, b"x")
    assert (tmp_path / "secret").read_bytes() == b"outside"


def test_a_log_directory_is_no_link_but_may_lie_behind_one(tmp_path: Path) -> None:
    """The node itself may make a link of its data's path; the run's directory is its owner's."""
    (tmp_path / "real" / "broker-0").mkdir(parents=True)
    (tmp_path / "run").symlink_to(tmp_path / "real")
    DiskFiles(tmp_path / "run" / "broker-0").append("log", b"abc")
    assert (tmp_path / "real" / "broker-0" / "log").read_bytes() == b"abc"
    with pytest.raises(DiskFailed, match="is a symbolic link"):
        DiskFiles(tmp_path / "run")


@pytest.mark.parametrize(
    ("number", "error"),
    [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EIO, DiskFailed), (errno.EROFS, DiskFailed)],
)
def test_a_write_that_the_system_refuses_midway_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
) -> None:
    files = DiskFiles(tmp_path)
    files.append("log", b"abc")
    real_write = os.write

    def write(descriptor: int, data: bytes) -> int:
        if len(data) == 2:
            raise OSError(number, os.strerror(number))
        return real_write(descriptor, data[:2])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(error, match=f"log: {os.strerror(number).lower()}"):
        files.append("log", b"defg")
    monkeypatch.undo()
    assert files.append("log", b"X") == 4
    assert (tmp_path / "log").read_bytes() == b"abcX"


def test_short_writes_and_reads_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = DiskFiles(tmp_path)
    real_write, real_pread = os.write, os.pread
    monkeypatch.setattr(os, "write", lambda descriptor, data: real_write(descriptor, data[:2]))
    monkeypatch.setattr(os, "pread", lambda descriptor, size, position: real_pread(descriptor, min(size, 3), position))
    assert files.append("log", b"abcdefg") == 7
    files.write_atomically("hw", b"1234567")
    assert files.read("log", 1, 99) == b"bcdefg"
    assert files.read("hw", 0, 5) == b"12345"


def test_a_directory_that_vanished(tmp_path: Path) -> None:
    files = DiskFiles(tmp_path)
    files.make_directory("t-0")
    (tmp_path / "t-0").rmdir()
    with pytest.raises(FileMissing, match=r"t-0/0\.log: no such file"):
        files.append("t-0/0.log", b"x")


def test_the_root_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DiskFailed, match=r"\(log directory\): file exists"):
        DiskFiles(tmp_path / "file")


def test_without_syncs_the_device_gets_no_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster's own processes: their power losses are played, not suffered.

    The written data is the same.
    """
    requested: list[int] = []
    monkeypatch.setattr(os, "fsync", requested.append)
    files = DiskFiles(tmp_path / "lazy", syncs=False)
    files.append("a", b"one")
    files.fsync("a")
    files.write_atomically("b", b"two")
    files.fsync("")
    assert (requested, files.read("a", 0, 9), files.read("b", 0, 9)) == ([], b"one", b"two")
    files.close()
    careful = DiskFiles(tmp_path / "careful")
    careful.append("a", b"one")
    careful.fsync("a")
    assert len(requested) == 1
    careful.close()
