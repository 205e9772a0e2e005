"""`faultline log NODE PARTITION`: a replica beside the others."""

import json
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from emulator.cli.app import main
from emulator.cli.commands.log_command import log_command
from emulator.cli.commands.run_simulated import simulate_into
from emulator.runs.directory import prepare
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.storage.disk import DiskFiles
from emulator.storage.log_directory import segment_name
from protocol.ids import LeaderEpoch, Offset
from protocol.records import format as records

Capture = pytest.CaptureFixture[str]


def played(folder: Path, name: str, scenario: str, version: str) -> Path:
    run = folder / name
    prepare(run)
    simulate_into(run, resolve(find_scenario(scenario), version), 1)
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `equal`, the dual leader healed, and `diverged`, KIP-101 case 2."""
    folder = tmp_path_factory.mktemp("runs")
    played(folder, "equal", "az-isolated-leader", "2.6")
    played(folder, "diverged", "kip101-case2", "0.10.2")
    return folder


def exit_code(*words: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["log", *words])
    return ended.value.code


# --- side by side ---


def test_a_replica_is_printed_beside_the_others(runs: Path, capsys: Capture) -> None:
    assert log_command("broker-0", "t-0", runs / "equal", False) == 0
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        f"t-0 of broker-0 beside the others, from data/ of {runs / 'equal'}",
        "                           broker-0     broker-1     broker-2",
        "log start                  0            0            0",
        "log end                    5            5            5",
        "high watermark checkpoint  2            5            5",
        "epoch@start offset         0@0 1@2      0@0 1@2      0@0 1@2",
        "offset                     epoch value  epoch value  epoch value",
        "0                          0 a          0 a          0 a",
        "1                          0 b          0 b          0 b",
        "2                          1 f          1 f          1 f",
        "3                          1 g          1 g          1 g",
        "4                          1 h          1 h          1 h",
        "the replicas are equal",
    ]


def test_differences_are_marked_and_the_requested_replica_comes_first(runs: Path, capsys: Capture) -> None:
    """0.10.2: m2 against m3 at offset 1, for ever; records of that time have no epoch."""
    assert log_command("broker-1", "t-0", runs / "diverged", False) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[1].split() == ["broker-1", "broker-0"]
    assert lines[5].split() == ["epoch@start", "offset", "none", "none"]
    assert [line.split() for line in lines[7:10]] == [
        ["0", "m1", "m1"],
        ["1", "m3", "m2", "differs"],
        ["2", "m4", "m4"],
    ]
    assert lines[-1] == "the replicas differ at offset 1"


def test_json_has_everything(runs: Path, capsys: Capture) -> None:
    assert log_command("broker-0", "t-0", runs / "diverged", True) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["run", "partition", "node", "source", "replicas", "differs", "missing"]
    assert (found["differs"], found["missing"]) == ([1], [])
    assert found["replicas"]["broker-0"] == {
        "log_start": 0,
        "log_end": 3,
        "high_watermark_checkpoint": 2,
        "leader_epochs": [],
        "log": [[0, None, "m1"], [1, None, "m2"], [2, None, "m4"]],
    }


def test_without_data_the_last_snapshot_is_shown(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    """The part of a seed that `faultline sim --out` keeps."""
    shutil.copy(runs / "equal" / "observations.json", tmp_path)
    assert log_command("broker-2", "t-0", tmp_path, True) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["source"] == "the snapshot 'after heal' of observations.json, for there is no data/"
    assert found["replicas"]["broker-2"]["log"][-1] == [4, 1, "h"]
    assert (found["replicas"]["broker-2"]["log_start"], found["replicas"]["broker-2"]["log_end"]) == (None, 5)
    assert log_command("broker-0", "u-0", tmp_path, False) == 2
    assert "no partition 'u-0'" in capsys.readouterr().err


def test_a_damaged_log_is_named(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    run = tmp_path / "damaged"
    shutil.copytree(runs / "equal", run)
    segment = run / "data" / "broker-1" / "t-0" / "00000000000000000000.log"
    data = bytearray(segment.read_bytes())
    data[80] ^= 1
    segment.write_bytes(data)
    assert log_command("broker-0", "t-0", run, False) == 2
    assert capsys.readouterr().err.startswith(f"faultline log: {segment}: ")


def test_of_a_long_log_what_is_the_same_is_left_out(tmp_path: Path, capsys: Capture) -> None:
    """But for some around what is not: broker-1 differs at 500 and lacks the last two."""
    nodes = {f"broker-{number}": {"kafka.version": "2.6"} for number in (0, 1)}
    (tmp_path / "settings.json").write_bytes(msgspec.json.encode({"nodes": nodes}))
    for number, count in ((0, 1_000), (1, 998)):
        files = DiskFiles(tmp_path / "data" / f"broker-{number}", syncs=False)
        files.make_directory("t-0")
        for offset in range(count):
            value = b"other" if (number, offset) == (1, 500) else b"%d" % offset
            sent = records.encode([value], magic=2, timestamp_ms=1)
            files.append(f"t-0/{segment_name(0)}", records.place(sent, Offset(offset), LeaderEpoch(0)))
        files.close()
    assert log_command("broker-0", "t-0", tmp_path, False) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[7:]]
    assert [line[0] for line in lines[:-1]] == [
        *("0", "1", "2", "..."),
        *("497", "498", "499", "500", "501", "502", "503", "..."),
        *("995", "996", "997", "998", "999"),
    ]
    assert lines[3] == ["...", "494", "offsets", "alike"]
    assert lines[7] == ["500", "0", "500", "0", "other", "differs"]
    assert lines[-2] == ["999", "0", "999", "-", "missing"]
    assert " ".join(lines[-1]) == "the replicas differ at offset 500; not every replica has offsets 998-999"


# --- which run, and what is no use ---


def test_by_default_it_is_the_newest_run(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The one that began last; it is said."""
    monkeypatch.chdir(tmp_path)
    for name, at_s in (("equal", 2_000), ("diverged", 1_000)):
        shutil.copytree(runs / name, tmp_path / "runs" / name)
        os.utime(tmp_path / "runs" / name / "settings.json", (at_s, at_s))
    assert log_command("broker-0", "t-0", None, False) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(
        "from data/ of runs/equal (the newest run; another: --run DIR)"
    )


def test_without_any_run_it_prints_how_to_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert log_command("broker-0", "t-0", None, False) == 2
    assert capsys.readouterr().err == "faultline log: runs/ holds no run; name one with --run DIR\n"


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("broker-9", "t-0", "--run", "equal"), "no broker 'broker-9' in equal; nearest: broker-"),
        (("broker-0", "u-0", "--run", "equal"), "no partition 'u-0' in equal; nearest: t-0"),
        (("broker-2", "t-0", "--run", "diverged"), "broker-2 has no replica of t-0; those that have: broker-0, bro"),
        (("broker-0", "t-0", "--run", "equals"), "equals: no run's directory, for it holds no settings.json; near"),
        (("broker-0", "t-0", "--run", "equal", "--cluster", "x"), "--run equal and --cluster x: one of them"),
        (("broker-0", "--run", "equal"), "give either log NODE PARTITION [--run DIR] or log --as-kafka NODE"),
        (("broker-0", "t-0", "--file", "server"), "give either log NODE PARTITION"),
        (("broker-0", "--as-kafka", "broker-0"), "give either log NODE PARTITION"),
    ],
)
def test_unusable_input_ends_with_2_and_names_the_valid_one(
    words: tuple[str, ...], reported: str, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(runs)
    assert exit_code(*words) == 2
    assert capsys.readouterr().err.startswith(f"faultline log: {reported}")
