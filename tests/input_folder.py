"""A folder with a file of each kind that a command reads, usable and not."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Final

from tests.bounded_commands import ended

ROOT: Final = Path(__file__).parents[1]
RECORDING: Final = ROOT / "tests" / "golden" / "az-isolated-leader@2.8" / "1.json"
SCENARIO: Final = """id: x
title: x
kafka: [2.8]
topology: {brokers: 2, sessions: 1, clients: 2, azs: 2}
steps:
  - start: 0
  - start: 1
  - create-topic: {topic: t, assignment: [[0, 1], [1, 0]]}
  - produce: {client: client-0, values: [a, b], acks: all}
  - sleep: 1
  - cut: {az: az-1}
  - sleep: 1
  - heal
  - snapshot: end
expectations:
  - {text: nothing is lost, check: {name: lost-acknowledged, verdict: held}}
"""
SWEEP: Final = """id: swept
title: x
scenario: scenario.yaml
kafka: [2.8]
set: {min.insync.replicas: [1, 2]}
param: {sleep#1: [0.1, 0.2]}
seeds: 1..1
measures: [isr_shrinks]
"""
PROPERTIES: Final = "min.insync.replicas=1\nunclean.leader.election.enable=true\n"
OWN_CHECK: Final = '''from audit.checks.check import Check

CHECK = Check(
    name="own", title="x", definition="x", levels=("replica",), needs=(), subject="batches",
    subjects=lambda counts: counts["batch_appended"],
    violations="SELECT run, topic, partition, base_offset AS offset, 'x' AS text, '{}' AS details FROM appends",
)
'''
REGISTRATION: Final = """{"name": "x", "owner": {"pid": 4194304, "ticks": 1, "boot": "x", "pids": "x", "machine": "x"},
"session": 0, "host": "127.0.0.1", "port": 1, "token": "x", "run": "run", "engine": "process", "driver": "nodes",
"kind": "cluster"}"""


def make_input_folder(folder: Path) -> None:
    """Fill `folder`, which is empty and the current directory."""
    (folder / "scenario.yaml").write_text(SCENARIO)
    (folder / "sweep.yaml").write_text(SWEEP)
    (folder / "server.properties").write_text(PROPERTIES)
    (folder / "own_check.py").write_text(OWN_CHECK)
    shutil.copy(ROOT / "compose" / "three-az.yml", folder / "three-az.yml")
    shutil.copy(RECORDING, folder / "observations.json")
    (folder / "goldens").mkdir()
    shutil.copy(RECORDING, folder / "goldens" / "1.json")
    for name in ("yaml", "json", "properties", "yml"):
        (folder / f"broken.{name}").write_bytes(b"a: [1,\n\\u00zz=\xff\n{")
    (folder / "broken_check.py").write_text("raise OSError(99, 'x')\n")
    (folder / "folder").mkdir()
    (folder / "empty").write_bytes(b"")
    (folder / "text").write_text("text\n")
    (folder / "binary").write_bytes(bytes(range(256)) * 4)
    (folder / "latin").write_bytes("title: M\xfcller\n".encode("latin-1"))
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nowhere")
    make_run(folder / "run")
    make_campaign(folder / "campaign")
    assert ended(["fuzz", "--runs", "1", "--out", "finds"]).code in (0, 1, 130)
    shutil.copytree(folder / "run", folder / "run-2")
    shutil.copytree(folder / "run", folder / "torn")
    events = sorted((folder / "torn" / "events").iterdir())
    events[0].write_bytes(events[0].read_bytes()[:-20])
    events[1].write_bytes(b"")
    (folder / "torn" / "verdict.json").write_text("{")
    (folder / "run" / "cluster.json").write_text(REGISTRATION)
    (folder / "bare" / "events").mkdir(parents=True)
    (folder / "runs").mkdir()
    shutil.copytree(folder / "run", folder / "runs" / "run")


def make_run(directory: Path) -> None:
    """A simulated run of SCENARIO with its report, in the current directory."""
    words = ["run", "scenario.yaml", "--world", "sim", "--out", str(directory)]
    assert ended(words).code == 0
    assert ended(["report", str(directory)]).code == 0


def make_campaign(directory: Path) -> None:
    assert ended(["sim", "scenario.yaml", "--seeds", "1..2", "--out", str(directory)]).code == 0
    assert ended(["report", str(directory)]).code == 0
    json.loads((directory / "campaign.json").read_text())


def copy_folder(made: Path, place: Path) -> None:
    """Another one, which commands may write to."""
    shutil.copytree(made, place, symlinks=True, ignore=lambda _, names: [name for name in names if name == "fifo"])
    os.mkfifo(place / "fifo")
