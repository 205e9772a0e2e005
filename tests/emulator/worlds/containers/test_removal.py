"""Removal from an engine while another process removes the same, or was killed at it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.identity import mine
from emulator.worlds.containers import removal
from emulator.worlds.containers.removal import OWN_FOLDER, OWNER_LABEL, remove_abandoned, remove_project
from emulator.worlds.containers.tool import DockerFailed, DockerMissing, NoEngine


class Engine:
    """Containers c0 and c1 and network n0 alone, of a process that is dead.

    The engine refuses the first `refusals` removals: another process is at it, and removes c0 meanwhile
    (`by_somebody`).
    """

    def __init__(self, folder: Path, refusals: int = 0, *, by_other_process: bool = True) -> None:
        self.there = {"container": ["c0", "c1"], "network": ["n0"], "volume": list[str]()}
        self.refusals, self.by_somebody = refusals, by_other_process
        owner = mine().text().replace(f"{mine().pid}-{mine().ticks}", f"{mine().pid}-1", 1)
        self.labels = ("p", owner, str(folder))
        self.asked: list[tuple[str, ...]] = []
        self.after_call: tuple[int, Callable[[], None]] = (0, lambda: None)
        self.calls = 0

    def docker(self, *words: str, limit_s: float = 0.0) -> str:
        self.calls += 1
        call = self.calls
        try:
            return self._done(*words)
        finally:
            if call == self.after_call[0]:
                self.after_call[1]()

    def _done(self, *words: str) -> str:
        kind = words[0] if words[0] in self.there else "container"
        rest = words[1:] if words[0] in ("network", "volume") else words
        match rest:
            case ("ps" | "ls", *_):
                return "\n".join(self.there[kind])
            case ("inspect", "--format", form, one):
                assert OWNER_LABEL in form
                if one not in self.there[kind]:
                    raise DockerFailed(f"no such {kind}: {one}")
                return "\t".join((one, *self.labels)) + "\n"
            case ("rm", *ids):
                wanted = [one for one in ids if not one.startswith("--")]
                self.asked.append(tuple(wanted))
                if self.refusals:
                    self.refusals -= 1
                    if self.by_somebody:
                        self.there["container"].remove("c0")
                    raise DockerFailed("removal of container c0 is already in progress")
                gone = [one for one in wanted if one not in self.there[kind]]
                self.there[kind] = [one for one in self.there[kind] if one not in wanted]
                if gone and kind != "volume":
                    raise DockerFailed(f"no such {kind}: {gone[0]}")
                return ""
        raise AssertionError(words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / OWN_FOLDER
    (made / "secret").mkdir(parents=True)
    (made / "secret" / "token").write_text("secret")
    return made


@pytest.fixture
def engine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine(folder)
    monkeypatch.setattr(removal, "docker", made.docker)
    monkeypatch.setattr(removal, "AGAIN_S", 0.0)
    return made


def test_a_foreign_removal_is_awaited(engine: Engine, folder: Path) -> None:
    engine.refusals = 1
    assert remove_project("p", folder).containers == ("c0", "c1")
    assert engine.asked == [("c0",), ("c1",), ("n0",)], "one container after the other"
    assert not any(engine.there.values())
    assert not folder.exists()


def test_an_engine_that_refuses_on_and_on_is_an_error(engine: Engine, folder: Path) -> None:
    engine.refusals, engine.by_somebody = 1_000, False
    with pytest.raises(DockerFailed, match="already in progress"):
        remove_project("p", folder)
    assert len(engine.asked) == removal.TRIES
    assert folder.exists(), "its containers are there still"


CALLS = 3 + 3 + 3
"""Of one who removes alone: what is there, the labels of each, and a removal of each."""


def test_one_command_removes_alone(engine: Engine, folder: Path) -> None:
    assert str(remove_abandoned()["p"]) == "2 containers, 1 network"
    assert engine.calls == CALLS
    assert not any(engine.there.values())
    assert not folder.exists()


@pytest.mark.parametrize("call", range(1, CALLS + 1))
def test_nothing_is_left_when_another_process_has_got_that_far(call: int, engine: Engine, folder: Path) -> None:
    """The second process ends with nothing left, nor the folder, at any progress of the first.

    The first one, which goes on after it, accepts that result.
    """

    def second() -> None:
        remove_abandoned()
        assert not any(engine.there.values())
        assert not folder.exists()
        seconds.append(call)

    seconds: list[int] = []
    engine.after_call = (call, second)
    remove_abandoned()
    assert seconds == [call]
    assert not folder.exists()


def test_volumes_go_too(engine: Engine, folder: Path) -> None:
    engine.there["volume"].append("v0")
    assert str(remove_project("p", folder)) == "2 containers, 1 network, 1 volume"
    assert not any(engine.there.values())


class Killed(BaseException):
    """SIGKILL: nothing more is done."""


@pytest.mark.parametrize("call", range(1, CALLS + 1))
def test_the_leftovers_of_a_killed_removal_are_removed(call: int, engine: Engine, folder: Path) -> None:
    def killed() -> None:
        raise Killed

    engine.after_call = (call, killed)
    with pytest.raises(Killed):
        remove_abandoned()
    remove_abandoned()
    assert not any(engine.there.values())
    assert not folder.exists()


def test_a_folder_that_cannot_be_removed_is_reported(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refused)
    with pytest.raises(DockerFailed, match=r"\.containers could not be removed: .*Permission denied"):
        remove_abandoned()
    assert not any(engine.there.values()), "the rest is removed all the same"


def test_where_no_engine_runs_nothing_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*words: str, limit_s: float = 0.0) -> str:
        raise NoEngine("Cannot connect to the Docker daemon")

    monkeypatch.setattr(removal, "docker", refuse)
    with pytest.raises(DockerMissing, match="no Docker engine answers"):
        remove_abandoned()


@pytest.mark.parametrize("call", range(1, CALLS))
def test_an_engine_that_ends_half_way_leaves_something(
    call: int, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the listings of `remove_abandoned`, its first three calls, remains are known."""

    def dies(*words: str, limit_s: float = 0.0) -> str:
        if engine.calls == call:
            raise NoEngine("Cannot connect to the Docker daemon")
        return engine.docker(*words, limit_s=limit_s)

    monkeypatch.setattr(removal, "docker", dies)
    with pytest.raises(DockerMissing if call < 3 else NoEngine):
        remove_abandoned()
