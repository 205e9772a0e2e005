"""Which cluster a command is about."""

import os
import stat
from pathlib import Path

import psutil
import pytest

from emulator.live.registry import (
    CLUSTER_FILE,
    NoCluster,
    Registration,
    choose,
    clusters,
    named,
    register,
    registered,
    unregister,
)


def alive(name: str) -> Registration:
    me = psutil.Process()
    return Registration(name, me.pid, me.create_time(), me.pid, "127.0.0.1", 1, "token")


def dead(name: str) -> Registration:
    """The number is in use again, by a younger process."""
    return Registration(name, os.getpid(), psutil.Process().create_time() - 100.0, 1, "127.0.0.1", 1, "token")


def put(home: Path, folder: str, registration: Registration) -> Path:
    directory = home / "runs" / folder
    directory.mkdir(parents=True)
    register(directory, registration)
    return directory


def test_the_file_with_the_token_is_its_owners_alone(home: Path) -> None:
    directory = put(home, "one-1", alive("one"))
    assert stat.S_IMODE((directory / CLUSTER_FILE).stat().st_mode) == 0o600
    assert [path.name for path in directory.iterdir()] == [CLUSTER_FILE]
    unregister(directory)
    unregister(directory)
    assert registered(directory) is None


def test_without_a_name_the_only_one_that_runs_is_meant(home: Path) -> None:
    with pytest.raises(NoCluster, match=r"no cluster runs: start one with faultline up"):
        choose(None)
    put(home, "old-1", dead("old"))
    with pytest.raises(NoCluster, match="no cluster runs"):
        choose(None)
    put(home, "one-1", alive("one"))
    assert choose(None).name == "one"
    put(home, "two-1", alive("two"))
    with pytest.raises(NoCluster, match="several clusters run: one, two; say which with --cluster NAME"):
        choose(None)


def test_a_name_a_folder_or_a_path_says_which(home: Path) -> None:
    directory = put(home, "one-1", alive("one"))
    put(home, "two-1", alive("two"))
    assert choose("one").directory == choose("one-1").directory == Path("runs/one-1")
    assert choose(str(directory)).directory == directory
    with pytest.raises(NoCluster, match="no cluster 'tow' runs; nearest: two"):
        choose("tow")
    put(home, "one-2", alive("one"))
    with pytest.raises(NoCluster, match=r"several clusters are called one: say which directory: .*one-1.*one-2"):
        choose("one")


def test_a_stale_one_is_known_and_never_asked(home: Path) -> None:
    put(home, "one-1", dead("one"))
    assert [(one.name, one.running) for one in named("one")] == [("one", False)]
    with pytest.raises(NoCluster, match="no cluster 'one' runs"):
        choose("one")


def test_a_file_that_nobody_could_have_written_is_no_cluster(home: Path) -> None:
    directory = put(home, "one-1", alive("one"))
    (directory / CLUSTER_FILE).write_bytes(b'{"name": "one"')
    assert clusters() == []
