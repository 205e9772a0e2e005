"""Processes told apart by what no clock changes."""

import subprocess
import sys
import time

import msgspec
import psutil
import pytest

from emulator.identity import began, identity_from, identity_of, mine, standing_of


def test_field_22_is_found_behind_any_name() -> None:
    rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20"
    for name in ("python", "a b", "x) S (y", ")"):
        assert began(f"42 ({name}) {rest}\n") == (987654, "S")


def test_a_process_is_itself_and_no_other_of_its_number() -> None:
    own = mine()
    assert standing_of(own) == "lives" and identity_of(own.pid) == own
    assert standing_of(msgspec.structs.replace(own, ticks=own.ticks + 1)) == "dead"
    assert standing_of(msgspec.structs.replace(own, boot="of last week")) == "dead"
    assert standing_of(msgspec.structs.replace(own, pids="1")) == "elsewhere"
    assert standing_of(msgspec.structs.replace(own, boot="x", machine="another")) == "elsewhere"


def test_steps_of_the_wall_clock_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """psutil's time of creation moves with the clock: the kernel's time of the boot does."""
    own, wall = mine(), time.time
    for step_s in (-3600.0, 3600.0):
        monkeypatch.setattr(time, "time", lambda step_s=step_s: wall() + step_s)
        boot_s = psutil.boot_time() + step_s
        monkeypatch.setattr(psutil._pslinux, "boot_time", lambda boot_s=boot_s: boot_s)
        monkeypatch.setattr(psutil._pslinux, "BOOT_TIME", boot_s, raising=False)
        assert standing_of(own) == "lives" and mine() == own


def test_a_dead_one_is_dead_before_anybody_has_waited_for_it() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    one = identity_of(child.pid)
    assert one is not None and standing_of(one) == "lives"
    child.kill()
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
        pass
    assert standing_of(one) == "dead"
    child.communicate()
    assert standing_of(one) == "dead" and identity_of(child.pid) is None


def test_as_text_and_back() -> None:
    own = msgspec.structs.replace(mine(), machine="a-name-with-dashes")
    assert identity_from(own.text()) == own
    for text in ("", "1", "1-2", "x-2-b-p-m", "1-y-b-p-m"):
        assert identity_from(text) is None
