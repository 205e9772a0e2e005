"""The place of a user's entries."""

import os
from pathlib import Path

import pytest

from emulator.cluster.state_home import NoStateHome, state_home


def test_xdgs_folder_else_the_homes_else_one_among_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emulator.cluster.state_home.gettempdir", lambda: str(tmp_path / "tmp"))
    home, given, machine = tmp_path / "home", tmp_path / "given", os.uname().nodename
    assert state_home({"XDG_STATE_HOME": str(given), "HOME": str(home)}) == given / "faultline" / machine
    assert state_home({"XDG_STATE_HOME": "relative", "HOME": str(home)}) == home / ".local/state/faultline" / machine
    assert state_home({}) == tmp_path / "tmp" / f"faultline-{os.geteuid()}" / machine
    assert state_home({}).stat().st_mode & 0o777 == 0o700


def test_a_foreign_home_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.cluster.state_home.gettempdir", lambda: str(tmp_path))
    euid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: euid + 1)
    with pytest.raises(NoStateHome, match="not a folder of ours"):
        state_home({"HOME": str(tmp_path / "home")})
    assert not (tmp_path / "home").exists()


def test_what_was_put_in_its_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.cluster.state_home.gettempdir", lambda: str(tmp_path))
    (tmp_path / "theirs").mkdir()
    (tmp_path / f"faultline-{os.geteuid()}").symlink_to(tmp_path / "theirs")
    with pytest.raises(NoStateHome, match="XDG_STATE_HOME"):
        state_home({})
    assert list((tmp_path / "theirs").iterdir()) == []
