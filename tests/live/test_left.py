"""`status` and `down` of a cluster whose supervisor is gone, with the reason."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.cluster.cluster_registry import LOG_FILE, Found, Registration
from emulator.cluster.orphaned_resources import FULL_BYTES, left_by
from emulator.identity import mine


def found(directory: Path) -> Found:
    return Found(directory, Registration("three-az", mine(), 0, "127.0.0.1", 0, ""), "dead")


@pytest.mark.parametrize(
    ("last_line", "free_bytes", "why"),
    [
        ("faultline: no descriptors left", 0, "; its last words: no descriptors left"),
        ("", FULL_BYTES - 1, "; its disk is full"),
        ("", FULL_BYTES, ""),
    ],
)
def test_why_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last_line: str, free_bytes: int, why: str
) -> None:
    """Words that it could still write go before a guess."""
    (tmp_path / LOG_FILE).write_text(f"something\n{last_line}\n" if last_line else "")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free_bytes))
    assert f"(process {mine().pid} is gone{why}); its processes have ended with it" in left_by(found(tmp_path))


def test_a_directory_that_is_gone_is_no_full_disk(tmp_path: Path) -> None:
    assert f"(process {mine().pid} is gone); " in left_by(found(tmp_path / "none"))
