"""A process that is told to die before one of its next storage operations."""

import os
from pathlib import Path

import pytest

from emulator.judging.crash_testing.crash_process import tell, watch
from emulator.storage.disk import DiskFiles


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The killed processes; this process lives on."""
    pids: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: pids.append(pid))
    return pids


def test_it_dies_before_the_ordered_operation_and_takes_the_order_along(
    tmp_path: Path, killed: list[int]
) -> None:
    files, order = DiskFiles(tmp_path / "data"), tmp_path / "death"
    watch(files, order)
    files.append("a", b"0")
    tell(order, 1)
    files.append("a", b"1")
    assert killed == [] and order.exists()
    files.append("a", b"2")
    assert killed == [os.getpid()] and not order.exists()


def test_an_order_withdrawn_while_it_counts_kills_no_process(tmp_path: Path, killed: list[int]) -> None:
    files, order = DiskFiles(tmp_path / "data"), tmp_path / "death"
    watch(files, order)
    tell(order, 1)
    files.append("a", b"0")
    order.unlink()
    files.append("a", b"1")
    files.append("a", b"2")
    assert killed == []
    assert files.read("a", 0, 9) == b"012"
