"""The cluster that a command selects."""

import os
import stat
import tempfile
from pathlib import Path

import msgspec
import pytest

from emulator.cluster.cluster_registry import (
    CLUSTER_FILE,
    NoCluster,
    Registration,
    choose,
    clusters,
    named,
    plays,
    register,
    registered,
    unregister,
)
from emulator.cluster.state_home import state_home
from emulator.identity import mine


def alive(name: str) -> Registration:
    return Registration(name, mine(), os.getpid(), "127.0.0.1", 1, "token")


def dead(name: str) -> Registration:
    """The number is in use again, by a younger process."""
    older = msgspec.structs.replace(mine(), ticks=mine().ticks - 1)
    return Registration(name, older, 1, "127.0.0.1", 1, "token")


def put(home: Path, folder: str, registration: Registration) -> Path:
    directory = home / "runs" / folder
    directory.mkdir(parents=True)
    register(directory, registration)
    return directory


def test_the_file_with_the_token_is_its_owners_alone(home: Path) -> None:
    directory = put(home, "one-1", alive("one"))
    assert stat.S_IMODE((directory / CLUSTER_FILE).stat().st_mode) == 0o600
    (entry,) = state_home().iterdir()
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert stat.S_IMODE(state_home().stat().st_mode) == stat.S_IMODE(state_home().parent.stat().st_mode) == 0o700
    assert [path.name for path in directory.iterdir()] == [CLUSTER_FILE]
    unregister(directory)
    unregister(directory)
    assert registered(directory) is None
    assert list(state_home().iterdir()) == []


def test_without_a_name_the_only_one_that_runs_is_meant(home: Path) -> None:
    with pytest.raises(NoCluster, match=r"no cluster runs: start one with faultline up"):
        choose(None)
    put(home, "old-1", dead("old"))
    with pytest.raises(NoCluster, match=r"no cluster runs.*what is left of old .* is removed by faultline down"):
        choose(None)
    put(home, "one-1", alive("one"))
    assert choose(None).name == "one"
    put(home, "two-1", alive("two"))
    with pytest.raises(NoCluster, match="several clusters run: one, two; choose one with --cluster NAME"):
        choose(None)


def test_a_cluster_of_a_program_counts_where_no_other_runs(home: Path) -> None:
    put(home, "a", alive("python-a"))
    assert choose(None).name == "python-a"
    put(home, "one-1", alive("one"))
    assert choose(None).name == "one"
    assert choose("python-a").name == "python-a"
    put(home, "two-1", alive("two"))
    with pytest.raises(NoCluster, match="several clusters run: one, two; choose one with --cluster NAME"):
        choose(None)


def test_a_name_a_folder_or_a_path_selects_one(home: Path) -> None:
    directory = put(home, "one-1", alive("one"))
    put(home, "two-1", alive("two"))
    assert choose("one").directory == choose("one-1").directory == Path("runs/one-1")
    assert choose(str(directory)).directory == directory
    with pytest.raises(NoCluster, match="no cluster 'tow' runs; nearest: two"):
        choose("tow")
    put(home, "one-2", alive("one"))
    with pytest.raises(NoCluster, match=r"several clusters are called one; choose one by its dir.*: .*one-1.*one-2"):
        choose("one")


def test_a_stale_one_is_known_and_gets_no_request(home: Path) -> None:
    put(home, "one-1", dead("one"))
    assert [(one.name, one.running) for one in named("one")] == [("one", False)]
    with pytest.raises(NoCluster, match=r"no cluster 'one' runs; what is left of one .* is removed by faultline down"):
        choose("one")


def test_an_impossible_file_is_no_cluster(home: Path) -> None:
    directory = put(home, "one-1", alive("one"))
    for damaged in (b'{"name": "one"', b"\xff", b"[" * 50_000):
        for file in (directory / CLUSTER_FILE, *state_home().iterdir()):
            file.write_bytes(damaged)
        assert registered(directory) is None
        assert clusters() == []


def test_a_cluster_is_found_from_anywhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = home / "elsewhere" / "one-1"
    directory.mkdir(parents=True)
    register(directory, alive("one"))
    (home / "far").mkdir()
    monkeypatch.chdir(home / "far")
    assert choose(None).directory == choose("one").directory == choose(str(directory)).directory == directory
    unregister(directory)
    assert clusters() == []


def test_one_whose_directory_was_removed_is_found_all_the_same(home: Path) -> None:
    directory = put(home, "one-1", alive("one"))
    (directory / CLUSTER_FILE).unlink()
    directory.rmdir()
    assert choose("one").registration.token == "token"
    unregister(directory)
    assert clusters() == []


def test_one_of_the_directory_alone_is_found_there(home: Path) -> None:
    put(home, "one-1", alive("one"))
    for entry in state_home().iterdir():
        entry.unlink()
    assert choose(None).directory == Path("runs/one-1")


def test_a_foreign_file_is_no_cluster(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = put(home, "one-1", alive("one"))
    other = home / "other.json"
    (directory / CLUSTER_FILE).rename(other)
    (directory / CLUSTER_FILE).symlink_to(other)
    assert registered(directory) is None
    (directory / CLUSTER_FILE).unlink()
    os.mkfifo(directory / CLUSTER_FILE)
    assert registered(directory) is None
    monkeypatch.setattr(tempfile, "tempdir", str(home))  # where the register of a user without a home is
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert registered(directory) is None


def test_a_run_that_is_played_is_registered_and_takes_no_commands(home: Path) -> None:
    directory = home / "runs" / "played"
    directory.mkdir(parents=True)
    register(directory, msgspec.structs.replace(alive("az-isolated-leader"), kind="play"))
    assert list(directory.iterdir()) == []
    assert [one.running for one in plays()] == [True]
    assert clusters() == []
    with pytest.raises(NoCluster, match="no cluster runs"):
        choose(None)


def test_one_of_another_machine_is_neither_running_nor_stale(home: Path) -> None:
    away = msgspec.structs.replace(mine(), boot="another", machine="another")
    put(home, "one-1", msgspec.structs.replace(alive("one"), owner=away))
    assert [(one.running, one.stale) for one in clusters()] == [(False, False)]
