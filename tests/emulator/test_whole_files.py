"""Files that are written whole: an earlier file is replaced, a device is written to."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from emulator.regular_files import write_whole


def test_an_earlier_file_is_replaced_and_its_other_names_keep_it(tmp_path: Path) -> None:
    earlier, other = tmp_path / "a", tmp_path / "b"
    earlier.write_bytes(b"old")
    other.hardlink_to(earlier)
    write_whole(earlier, b"new")
    assert (earlier.read_bytes(), other.read_bytes()) == (b"new", b"old")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_device_stays_a_device() -> None:
    write_whole(Path("/dev/null"), b"text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_device_is_an_error() -> None:
    with pytest.raises(OSError, match="No space left"):
        write_whole(Path("/dev/full"), b"text")
