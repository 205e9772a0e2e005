"""A simulated run's directory: its files, and the same bytes for a seed in each process."""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from emulator.cli.commands.run_simulated import judge_into
from emulator.runs.directory import NotEmpty, prepare
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.verdict_file import from_json
from emulator.scenario.load import load_scenario
from emulator.scenario.observations.recording_files import load
from emulator.storage import inspect
from emulator.storage.disk import DiskFiles
from protocol.events import ENVELOPE, EVENTS
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[3]
SCENARIO = "az-isolated-leader"
UNEQUAL = {"verdict.json"}
"""It says how long the run took."""

PLAY = """
import sys
from pathlib import Path
from emulator.cli.commands.run_simulated import judge_into
from emulator.runs.directory import prepare
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
directory = Path(sys.argv[1])
prepare(directory)
judge_into(directory, resolve(find_scenario(sys.argv[2]), sys.argv[3]), int(sys.argv[4]))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "one"
    prepare(directory)
    judge_into(directory, resolve(find_scenario(SCENARIO), "2.6"), 11)
    return directory


def files_of(directory: Path) -> dict[str, str]:
    """{path: hash}"""
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): sha256(path.read_bytes()).hexdigest() for path in found}


def test_everything_of_the_contract_is_there(run: Path) -> None:
    there = files_of(run)
    nodes = [f"{role}-{n}" for role in ("broker", "session", "client") for n in range(3)] + ["observer"]
    assert {f"events/{node}.1.jsonl" for node in nodes} <= there.keys()
    assert {f"events/broker-{n}.1.wire.jsonl" for n in range(3)} <= there.keys()
    assert {"scenario.yaml", "settings.json", "observations.json", "verdict.json"} <= there.keys()
    assert {f"data/broker-{n}/t-0/00000000000000000000.log" for n in range(3)} <= there.keys()


def test_every_line_is_an_event_of_its_file(run: Path) -> None:
    lines = 0
    for path in (run / "events").iterdir():
        node, incarnation, *wire = path.name.removesuffix(".jsonl").split(".")
        for line in path.read_bytes().splitlines():
            fields = msgspec.json.decode(line)
            assert list(fields)[: len(ENVELOPE)] == list(ENVELOPE)
            assert fields.keys() - ENVELOPE.keys() == set(EVENTS[fields["event"]].__struct_fields__)
            assert (fields["run"], fields["node"], fields["incarnation"]) == ("one", node, int(incarnation))
            assert (fields["level"] == "wire") == (wire == ["wire"])
            lines += 1
    assert lines > 1000


def test_numbers_of_both_files_of_a_life_are_one_sequence(run: Path) -> None:
    for node in ("broker-0", "session-1", "observer"):
        paths = (run / "events").glob(f"{node}.1.*jsonl")
        numbers = [msgspec.json.decode(line)["seq"] for path in paths for line in path.read_bytes().splitlines()]
        assert sorted(numbers) == list(range(1, len(numbers) + 1))


def test_the_scenario_is_written_as_it_was_played(run: Path) -> None:
    played = resolve(find_scenario(SCENARIO), "2.6").scenario
    assert load_scenario((run / "scenario.yaml").read_text(), "scenario.yaml").steps == played.steps
    overridden = resolve(find_scenario(SCENARIO), "2.8", {"replica.lag.time.max.ms": 4000}).scenario
    assert overridden.default_version == "2.8"
    assert overridden.settings["replica.lag.time.max.ms"] == 4000


def test_settings_in_force_are_those_of_each_node(run: Path) -> None:
    settings = msgspec.json.decode((run / "settings.json").read_bytes())
    assert (settings["world"], settings["seed"], settings["kafka"]) == ("sim", 11, "2.6")
    assert settings["nodes"]["broker-1"]["zookeeper.session.timeout.ms"] == 6000
    session = {"tickTime": 1000, "initLimit": 10, "syncLimit": 4, "minSessionTimeout": 2000, "maxSessionTimeout": 20000}
    assert settings["nodes"]["session-2"] == session


def test_logs_on_disk_are_those_of_the_last_snapshot(run: Path) -> None:
    snapshots = [entry for entry in load(run / "observations.json").timeline if entry.get("saw") == "snapshot"]
    for node, replica in snapshots[-1]["replicas"].items():
        files = DiskFiles(run / "data" / node)
        assert inspect.read_partition(files, "t-0")["log"] == replica["log"]
        files.close()


def test_the_verdict_reads_back(run: Path) -> None:
    verdict = from_json((run / "verdict.json").read_bytes())
    assert (verdict.run, verdict.world, verdict.valid, verdict.exit_code) == ("one", "sim", True, 0)


def test_a_directory_that_holds_something_is_refused(run: Path) -> None:
    with pytest.raises(NotEmpty, match=r"one: is not empty"):
        prepare(run)


@pytest.mark.parametrize(("scenario", "version"), [(SCENARIO, "2.8"), ("az-isolated-controller", "2.6")])
def test_the_same_seed_gives_the_same_bytes_in_separate_processes(tmp_path: Path, scenario: str, version: str) -> None:
    """Hash seeds and places in memory differ; what is written does not."""
    written = []
    for process in range(2):
        directory = tmp_path / str(process) / "run"
        environment = {**os.environ, "PYTHONHASHSEED": str(process + 1), "PYTHONPATH": str(ROOT)}
        words = [sys.executable, "-c", PLAY, str(directory), scenario, version, "5"]
        subprocess.run(words, check=True, cwd=ROOT, env=environment, timeout=PATIENCE_S)
        written.append(files_of(directory))
    assert written[0].keys() == written[1].keys()
    assert {path for path in written[0] if written[0][path] != written[1][path]} <= UNEQUAL


def test_another_seed_gives_other_bytes(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "one"
    prepare(other)
    judge_into(other, resolve(find_scenario(SCENARIO), "2.6"), 12)
    assert files_of(other)["events/broker-0.1.jsonl"] != files_of(run)["events/broker-0.1.jsonl"]
