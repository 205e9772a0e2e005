"""Scratch of processes that live, died, or never were."""

import subprocess
import sys
from pathlib import Path

import pytest

from emulator.identity import mine
from emulator.runs.scratch import PREFIX, remove_scratch, scratch

KILLED = "import os, signal, sys; from pathlib import Path; from emulator.runs.scratch import scratch\n"
KILLED += "with scratch(Path(sys.argv[1])) as own: (own / 'f').touch(); os.kill(os.getpid(), signal.SIGKILL)"


def test_it_is_ours_alone_and_gone_afterwards(tmp_path: Path) -> None:
    with pytest.raises(KeyError), scratch(tmp_path) as own:
        assert own.stat().st_mode & 0o077 == 0 and own.parent == tmp_path.resolve()
        assert remove_scratch(tmp_path) == []
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_that_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(PREFIX) and (left / "f").exists()
    with scratch(tmp_path) as own:
        assert list(tmp_path.iterdir()) == [own]


def test_what_only_looks_like_it_stays(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}abc-1-2").mkdir()
    dead = mine().text().replace(f"{mine().pid}-{mine().ticks}", f"{mine().pid}-1", 1)
    (tmp_path / f"{PREFIX}abc-{dead}").touch()
    (tmp_path / "kept").mkdir()
    (tmp_path / f"{PREFIX}link-{dead}").symlink_to(tmp_path / "kept")
    assert remove_scratch(tmp_path) == []
    assert len(list(tmp_path.iterdir())) == 4
