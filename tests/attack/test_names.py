"""Names become paths, and values of the environment may be secrets."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from emulator.cli.commands.live_up import remove_unused
from emulator.runs.directory import ForeignDirectory, prepare
from emulator.runs.network_run import with_files
from emulator.scenario.load import ScenarioErrors, load_scenario
from emulator.storage.disk import DiskFiles
from emulator.storage.files import StorageError
from emulator.storage.inspect import erase
from emulator.worlds.cluster_file.compose_files import read_cluster_file, topologies

STEPS = "steps:\n  - start: 0\n  - create-topic: {{topic: {topic}, assignment: [0]}}\n"
SCENARIO = "id: {id}\ntitle: x\nkafka: [2.6]\n" + STEPS


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a/b", ".hidden", "a b", "'\\x1b[2J'", "x" * 101, "''"])
def test_a_scenarios_id_is_no_path(name: str) -> None:
    with pytest.raises(ScenarioErrors, match=r"x\.yaml:1:5: an id is of letters, digits"):
        load_scenario(SCENARIO.format(id=name, topic="t"), "x.yaml")


@pytest.mark.parametrize("name", ["a/b", "..", "'a b'", "x" * 250])
def test_a_topics_name_is_what_kafka_takes(name: str) -> None:
    with pytest.raises(ScenarioErrors, match=r"x\.yaml:6:27: a topic's name is of letters, digits"):
        load_scenario(SCENARIO.format(id="x", topic=name), "x.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [("[" * 5_000, "1:1: nested too deep"),
     ("id: x\ntitle: x\nsteps:\n  - wait: {until: leader 0, limit_s: 1e999}\n",
      "as a number, 0 to 2147483.647, got inf")],
)  # fmt: skip
def test_a_scenario_that_goes_on_for_ever_is_refused(text: str, message: str) -> None:
    with pytest.raises(ScenarioErrors, match=message):
        load_scenario(text, "x.yaml")


def test_a_compose_files_error_does_not_reveal_the_environment(tmp_path: Path) -> None:
    text = topologies()["three-az"].read_text(encoding="utf-8")
    file = tmp_path / "three-az.yml"
    file.write_text(
        text.replace("FAULTLINE_SPEED: ${FAULTLINE_SPEED:-1}", "FAULTLINE_SPEED: ${SECRET}")
        .replace('KAFKA_MIN_INSYNC_REPLICAS: "1"', "KAFKA_MIN_INSYNC_REPLICAS: a${SECRET}b"),
        encoding="utf-8",
    )  # fmt: skip
    with pytest.raises(ScenarioErrors) as refused:
        read_cluster_file(file, {"SECRET": "hunter2!"})
    assert "hunter2" not in str(refused.value)
    assert "got ${SECRET}" in str(refused.value) and "'a${SECRET}b'" in str(refused.value)


# --- directories ---


def test_a_world_writable_directory_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(ForeignDirectory, match="is writable by every user"):
        prepare(shared)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's directory")
def test_another_users_directory_is_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    os.chown(foreign, 12345, 12345)
    with pytest.raises(ForeignDirectory, match="is another user's"):
        prepare(foreign)


@pytest.mark.parametrize("place", ["data/broker-1", "data/broker-1/t-0"])
def test_a_disk_that_is_lost_takes_nothing_along_that_a_link_leads_to(tmp_path: Path, place: str) -> None:
    """A container may put a link in the place of its data, or of something in it."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    link = tmp_path / "run" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(precious)
    with pytest.raises(StorageError):
        with_files(tmp_path / "run", "broker-1", erase)
    assert (precious / "file").read_text() == "kept"


def test_a_pipe_in_the_place_of_a_log_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    assert stat.S_ISFIFO((tmp_path / "log").stat().st_mode)
    with pytest.raises(StorageError):
        DiskFiles(tmp_path).read("log", 0, 10)


# --- what a program inherits ---


def test_a_cluster_that_did_not_come_up_leaves_no_directory(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "events").mkdir(parents=True)
    for name in ("live.json", "settings.json", "supervisor.log"):
        (run / name).write_text("")
    remove_unused(run)
    assert not run.exists()


@pytest.mark.parametrize("kept", ["events/broker-0.1.jsonl", "cluster.json", "notes.txt"])
def test_informative_runs_are_kept(tmp_path: Path, kept: str) -> None:
    run = tmp_path / "run"
    (run / "events").mkdir(parents=True)
    (run / kept).write_text("x")
    remove_unused(run)
    assert (run / kept).exists()


def test_a_traceback_is_kept(tmp_path: Path) -> None:
    (tmp_path / "supervisor.log").write_text("Traceback (most recent call last):\n")
    remove_unused(tmp_path)
    assert (tmp_path / "supervisor.log").exists()
