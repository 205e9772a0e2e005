"""Folders that are full, or fail, on purpose: the same on both kinds of disks."""

from pathlib import Path

import pytest

from emulator.storage.disk import DiskFiles
from emulator.storage.files import DiskFailed, DiskFull
from emulator.storage.memory_files import MemoryFiles

Disk = MemoryFiles | DiskFiles


@pytest.fixture(params=["memory", "disk"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    made: Disk = MemoryFiles() if request.param == "memory" else DiskFiles(tmp_path)
    for name in ("d1", "d10"):
        made.make_directory(name)
        made.append(f"{name}/f", b"abc")
    return made


def test_everything_in_a_folder_that_fails_fails(disk: Disk) -> None:
    disk.faults.failing.add("d1")
    with pytest.raises(DiskFailed, match="d1/f: input/output error"):
        disk.append("d1/f", b"d")
    with pytest.raises(DiskFailed):
        disk.read("d1/f", 0, 1)
    with pytest.raises(DiskFailed):
        disk.truncate("d1/f", 1)
    with pytest.raises(DiskFailed):
        disk.fsync("d1")
    with pytest.raises(DiskFailed):
        disk.list("d1")
    with pytest.raises(DiskFailed):
        disk.delete("d1/f")
    with pytest.raises(DiskFailed):
        disk.rename("d1/f", "d1/g")
    with pytest.raises(DiskFailed):
        disk.write_atomically("d1/f", b"")
    with pytest.raises(DiskFailed):
        disk.make_directory("d1/x")
    assert disk.append("d10/f", b"d") == 4, "its name begins alike, and it is another"


def test_a_full_folder_takes_nothing_and_gives_what_it_has(disk: Disk) -> None:
    disk.faults.full.add("d1")
    with pytest.raises(DiskFull, match="d1/f: no space left on device"):
        disk.append("d1/f", b"d")
    with pytest.raises(DiskFull):
        disk.write_atomically("d1/f", b"d")
    assert disk.read("d1/f", 0, 9) == b"abc"
    disk.truncate("d1/f", 1)
    disk.faults.made_room()
    assert disk.append("d1/f", b"d") == 2


def test_the_whole_disk_fails_until_it_is_replaced(disk: Disk) -> None:
    disk.faults.failing |= {"", "d1"}
    disk.faults.made_room()
    with pytest.raises(DiskFailed):
        disk.append("d10/f", b"d")
    disk.faults.replaced("d1")
    with pytest.raises(DiskFailed):
        disk.append("d1/f", b"d")
    disk.faults.replaced("")
    assert not disk.faults.any
    assert disk.append("d1/f", b"d") == 4


def test_a_disk_breaks_down_as_configured(tmp_path: Path) -> None:
    disk = DiskFiles(tmp_path)
    disk.make_directory("d0")
    disk.append("d0/f", b"abc")
    assert disk.break_down("d0", fails=False) == 3
    assert disk.break_down("d1", fails=True) == 3
    assert (disk.faults.full, disk.faults.failing, disk.quota_bytes) == ({"d0"}, {"d1"}, None)
    assert disk.break_down("", fails=False) == 3
    assert disk.quota_bytes == 3
