"""`faultline log --as-kafka NODE`: a broker's log as Kafka writes it (semantics 9)."""

import json
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from emulator.cli.app import main
from emulator.cli.commands.log_as_kafka import as_kafka_command
from emulator.cli.commands.run_simulated import simulate_into
from emulator.runs.directory import prepare
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `leader`, the dual leader on 2.6, and `older`, on 1.1."""
    folder = tmp_path_factory.mktemp("runs")
    for name, version in (("leader", "2.6"), ("older", "1.1")):
        prepare(folder / name)
        simulate_into(folder / name, resolve(find_scenario("az-isolated-leader"), version), 1)
    return folder


def test_a_brokers_lines_are_printed_and_nothing_else(runs: Path, capsys: Capture) -> None:
    assert as_kafka_command("broker-0", runs / "leader", None, False) == 0
    written = capsys.readouterr()
    assert written.err == ""
    lines = written.out.splitlines()
    assert lines[-1].endswith("INFO [Log partition=t-0, dir=data/broker-0] Truncating to offset 2 (kafka.log.Log)")
    assert all(line.startswith("[2020-09-13 12:2") for line in lines)


def test_files_are_parts_of_the_whole(runs: Path, capsys: Capture) -> None:
    parts = []
    for file in ("server", "controller", "state-change"):
        assert as_kafka_command("broker-2", runs / "leader", file, False) == 0
        parts.append(capsys.readouterr().out.splitlines())
    assert as_kafka_command("broker-2", runs / "leader", None, False) == 0
    assert sorted(line for part in parts for line in part) == sorted(capsys.readouterr().out.splitlines())
    assert [{line.rpartition("(")[2].rstrip(")") for line in part} for part in parts[1:]] == [
        {"kafka.controller.KafkaController"},
        {"state.change.logger"},
    ]


def test_lines_as_json(runs: Path, capsys: Capture) -> None:
    assert as_kafka_command("broker-1", runs / "leader", "state-change", True) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert list(first) == ["wall_ms", "level", "message", "logger", "file", "clock"]
    assert (first["level"], first["logger"], first["file"]) == ("INFO", "state.change.logger", "state-change")


def test_each_life_is_written_in_the_layout_of_its_version(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    """A node that says which version it plays is believed; settings.json says it for all others."""
    run = tmp_path / "upgraded"
    shutil.copytree(runs / "leader", run)
    life = [json.loads(line) for line in (run / "events" / "broker-0.1.jsonl").read_bytes().splitlines()]
    for line in life:
        line["incarnation"] = 2
        if line["event"] == "node_started":
            line |= {"kafka_version": "2.8", "protocol_version": "2.6"}
    (run / "events" / "broker-0.2.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in life))
    assert as_kafka_command("broker-0", run, "server", False) == 0
    added = [line for line in capsys.readouterr().out.splitlines() if "Added fetcher" in line]
    assert ["InitialFetchState" in line for line in added] == [False, True]


def test_an_event_of_another_format_is_named(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    run = tmp_path / "foreign"
    shutil.copytree(runs / "leader", run)
    events = run / "events" / "broker-0.1.jsonl"
    events.write_text(events.read_text().replace('"zk_version":0', '"zk_version":"none"', 1))
    assert as_kafka_command("broker-0", run, None, False) == 2
    reported = capsys.readouterr().err
    assert "of broker-0.1, role_changed: Expected `int`, got `str` - at `$.zk_version`" in reported


def test_a_broker_without_events_is_reported(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    run = tmp_path / "silent"
    shutil.copytree(runs / "leader", run)
    (run / "events" / "broker-0.1.jsonl").unlink()
    (run / "events" / "broker-0.1.wire.jsonl").unlink()
    assert as_kafka_command("broker-0", run, None, False) == 2
    assert "holds no events of broker-0" in capsys.readouterr().err


def test_a_dedicated_controller_has_lines_too(tmp_path: Path, capsys: Capture) -> None:
    """Under its own id, 1000 and up (semantics 4.1)."""
    prepare(tmp_path / "run")
    simulate_into(tmp_path / "run", resolve(find_scenario("az-isolated-dedicated-controller")), 1)
    assert as_kafka_command("controller-2", tmp_path / "run", "controller", False) == 0
    assert (
        capsys.readouterr()
        .out.splitlines()[0]
        .partition("] ")[2]
        .startswith("INFO [Controller id=1002] 1002 successfully elected as the controller. Epoch incremented to 1")
    )


# --- which run, and what is no use ---


def test_by_default_it_is_the_newest_run(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The one that began last, said on stderr beside the lines."""
    monkeypatch.chdir(tmp_path)
    for name, at_s in (("leader", 2_000), ("older", 1_000)):
        shutil.copytree(runs / name, tmp_path / "runs" / name)
        os.utime(tmp_path / "runs" / name / "settings.json", (at_s, at_s))
    assert as_kafka_command("broker-0", None, None, False) == 0
    assert capsys.readouterr().err == "faultline log: broker-0 in runs/leader, the newest run (another: --run DIR)\n"


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("session-0", "--run", "leader"), "faultline log: no broker 'session-0' in leader; there are: broker-0, "),
        (("broker-9", "--run", "leader"), "faultline log: no broker 'broker-9' in leader; nearest: broker-"),
        (("broker-0", "--run", "leaders"), "faultline log: leaders: no run's directory, for it holds no settings"),
        (("broker-0",), "faultline log: runs/ holds no run; name one with --run DIR"),
        (("broker-0", "--file", "serve"), 'faultline: Invalid value "serve" for --file'),
    ],
)
def test_unusable_input_ends_with_2_and_names_the_valid_one(
    words: tuple[str, ...], reported: str, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(runs)
    with pytest.raises(SystemExit) as ended:
        main(["log", "--as-kafka", *words])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(reported)
