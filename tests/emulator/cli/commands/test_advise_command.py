"""`faultline advise`: output that fits a terminal, and a command that replays it."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.cli.app import app
from emulator.cli.commands import advise as command
from emulator.exit_codes import BROKEN, BUG, UNUSABLE
from emulator.judging.advice.advice_cluster import Cluster
from emulator.judging.advice.advice_runs import Base, Choice, base_of
from emulator.scenario.load import load_scenario

pytestmark = pytest.mark.slow

FAULT = "every-broker-loses-power-load"
SAFE = ("--set", "producer.acks=all", "--set", "producer.enable.idempotence=true", "--set", "min.insync.replicas=2")


def one_fault(choice: Choice, version: str | None, cluster: Cluster) -> Base:
    base = base_of(choice, version, cluster)
    return msgspec.structs.replace(base, faults=tuple(fault for fault in base.faults if fault.name == FAULT))


def advise(*words: str) -> int:
    code: Any = app(list(words), result_action="return_value")
    return int(code)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "base_of", one_fault)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})  # few runs: other processes would only have to start
    return tmp_path


def test_the_command_that_is_given_breaks_the_same_promise(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "server.properties").write_text("broker.rack=a\nlog.flush.interval.messages=9\n", encoding="utf-8")
    kinds = ("html", "sarif", "junit", "markdown")
    reports = [word for kind in kinds for word in (f"--{kind}", str(folder / f"a.{kind}"))]
    assert advise("advise", "server.properties", *SAFE, "--seeds", "2", "--json", "--annotations", *reports) == BROKEN
    output = capsys.readouterr()
    fault = msgspec.json.decode(output.out)["faults"][0]
    broken = fault["broken"][0]
    assert (broken["check"], broken["change"]) == ("lost-acknowledged", ["log.flush.interval.messages=1"])
    assert broken["replay"] in (folder / "a.html").read_text(encoding="utf-8")
    result = msgspec.json.decode((folder / "a.sarif").read_bytes())["runs"][0]["results"][0]
    place = {"artifactLocation": {"uri": "server.properties"}, "region": {"startLine": 2}}
    assert (result["ruleId"], result["locations"][0]["physicalLocation"]) == ("lost-acknowledged", place)
    assert "::error file=server.properties,line=2,title=lost-acknowledged%3A" in output.err
    assert "log.flush.interval.messages=1" in (folder / "a.junit").read_text(encoding="utf-8")
    assert "not as expected" in (folder / "a.markdown").read_text(encoding="utf-8")
    faultline, *words = shlex.split(broken["replay"])
    assert faultline == "faultline"
    assert advise(*words, "--json") == BROKEN
    verdict = msgspec.json.decode(capsys.readouterr().out)
    assert verdict["checks"]["lost-acknowledged"]["verdict"] == "violated"
    advise(*words, "--set", broken["change"][0], "--json")
    mended = msgspec.json.decode(capsys.readouterr().out)
    assert mended["checks"]["lost-acknowledged"]["verdict"] == "held"


def test_a_run_that_meets_a_bug_is_named_and_ends_with_70(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise AssertionError("a machine's own")

    monkeypatch.setattr("emulator.judging.judged.play_and_judge", broken)
    assert advise("advise", *SAFE, "--seeds", "2", "--json") == BUG
    [bug] = msgspec.json.decode(capsys.readouterr().out)["bugs"]
    path = Path(f"runs/advice/bug-1-{FAULT}.yaml")
    assert (bug["fault"], bug["seed"], bug["error"]) == (FAULT, 2, "AssertionError: a machine's own")
    assert shlex.split(bug["replay"])[:3] == ["faultline", "run", str(path)] and bug["replay"].endswith("--seed 2")
    assert load_scenario(path.read_text(), str(path)).id == FAULT
    assert advise("advise", *SAFE, "--seeds", "2") == BUG
    assert f"bug of faultline: {FAULT}, seed 2: AssertionError: a machine's own" in capsys.readouterr().out


def two_faults(choice: Choice, version: str | None, cluster: Cluster) -> Base:
    base = base_of(choice, version, cluster)
    names = ("broker-1-crashes-election", "broker-2-loses-power-election")
    return msgspec.structs.replace(base, faults=tuple(fault for fault in base.faults if fault.name in names))


def test_pairs_follow_single_faults_and_the_command_that_is_given_breaks_the_same_promise(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "base_of", two_faults)
    assert advise("advise", *SAFE, "--seeds", "1", "--pairs", "--runs", "3", "--json") == BROKEN
    reported = msgspec.json.decode(capsys.readouterr().out)
    pairs = reported["pairs"]
    assert not any(fault["broken"] for fault in reported["faults"])
    assert (pairs["runs"], pairs["of"], pairs["exhausted"], pairs["known"]) == (3, 5, False, 0)
    lost = next(cause for cause in pairs["causes"] if cause["check"] == "lost-acknowledged")["pairs"]
    assert {one["moment"] for one in lost} == {"election"} and lost[0]["change"] == ["log.flush.interval.messages=1"]
    advise(*shlex.split(lost[0]["replay"])[1:], "--json")
    verdict = msgspec.json.decode(capsys.readouterr().out)
    assert verdict["checks"]["lost-acknowledged"]["verdict"] == "violated"


def test_one_fault_alone_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert advise("advise", *SAFE, "--fault", FAULT, "--seeds", "2", "--json") == BROKEN
    reported = msgspec.json.decode(capsys.readouterr().out)
    assert [fault["name"] for fault in reported["faults"]] == [FAULT] and reported["runs"] == 1
    assert reported["exhausted"] == "", "of 71 single faults one was played"


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("--runs", "5"), "--runs and --for: limit --pairs only"),
        (("--pairs", "--runs", "0"), "--runs 0: at least 1"),
        (("--pairs", "--runs", "5", "--for", "1m"), "--runs and --for: exclude each other"),
        (("--pairs", "--for", "soon"), "--for 'soon': expected a time such as 90s"),
        (("--topology", "three-azz"), "no topology or file 'three-azz'; nearest: three-az"),
        (("--topology", "three-az", "--azs", "2"), "--topology: contradicts --brokers and --azs"),
        (("--brokers", "2", "--azs", "3"), "--azs 3: there are 2 brokers"),
        (("--fault", "az-0-is-cut-of-load"), "no such fault of 71; nearest: az-0-is-cut-off-load"),
        (("--fault", "az-0-is-cut-off-load", "--pairs"), "leave out --fault"),
    ],
)
def test_an_invalid_bound_or_cluster_is_reported(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], reported: str
) -> None:
    assert advise("advise", *words) == UNUSABLE
    assert reported in capsys.readouterr().err


def test_the_summary_comes_first_then_the_table_then_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert advise("advise", *SAFE, "--seeds", "2") == BROKEN
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "1 of 1 single faults break a promise: lost-acknowledged (1), read-then-lost (1)."
    assert re.fullmatch(r"Change \d settings? and 2 of 2 findings end \(1 run with the change\):", lines[0])
    assert "Left: no finding." in lines[:11]
    assert any("every broker loses power" in line and "100%" in line for line in lines)
    reported = [line.split()[0] for line in lines if line.startswith("  ") and line.split()]
    assert [word for word in reported if word in ("why", "replay", "change")] == ["why", "replay", "change"] * 2
    assert all(len(line) <= 120 for line in lines if not line.lstrip().startswith("replay"))
