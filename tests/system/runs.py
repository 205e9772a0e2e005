"""Runs of the tests' own: a short scenario, and what their directories tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import trio

from audit.audited_run import audit_runs, write_verdict
from emulator.run_layout import EVENTS_FOLDER, event_paths
from tests.emulator.worlds.network_world import DirectoryWatch
from tests.patience import PATIENCE_S
from verification.network_runs import lateness_ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHORT = """
id: short
title: a few seconds of a cluster, for what is done to it
kafka: [2.6]
settings:
  zookeeper.session.timeout.ms: 6000
  auto.leader.rebalance.enable: false
steps:
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a, b], acks: all}
"""
"""More steps may be put behind it."""


def short(directory: Path, *steps: str, name: str = "short.yaml") -> Path:
    """The scenario file with `steps` (YAML) behind those that start it."""
    path = directory / name
    path.write_text(SHORT + "".join(f"  - {step}\n" for step in steps), encoding="utf-8")
    return path


def events_of(run: Path, *names: str) -> Iterator[dict[str, Any]]:
    """Events of these names, file by file; a line torn by a death is left out."""
    for path in event_paths(run / EVENTS_FOLDER):
        for line in path.read_bytes().splitlines():
            if any(f'"{name}"'.encode() in line for name in names):
                try:
                    fields = msgspec.json.decode(line)
                except msgspec.DecodeError:
                    continue
                if fields["event"] in names:
                    yield fields


def audited(spark: SparkSession, runs: Sequence[Path], scratch: Path) -> list[dict[str, Any]]:
    """The verdicts, now in the runs' directories, as `faultline audit` writes them.

    Without a Java of its own.
    """
    verdicts = audit_runs(spark, runs, scratch=str(scratch))
    written = [write_verdict(verdict, run) for run, verdict in zip(runs, verdicts, strict=True)]
    return [msgspec.json.decode(path.read_bytes()) for path in written]


def was_late(run: Path) -> bool:
    """True if the machine was too busy to judge this run.

    It is unknown, neither right nor wrong.
    """
    limit_ms: float = msgspec.json.decode((run / "settings.json").read_bytes())["timer_limit_ms"]
    return lateness_ms(run) > limit_ms


async def until(directory: Path, condition: Callable[[], bool], limit_s: float = PATIENCE_S) -> None:
    """Looks whenever something in `directory` (which exists) is written."""
    watch = DirectoryWatch(directory)
    try:
        with trio.fail_after(limit_s):
            while not condition():
                await watch.wait_change()
    finally:
        watch.close()


def wait_until(directory: Path, condition: Callable[[], bool], limit_s: float = PATIENCE_S) -> None:
    """`until`, for tests that are not async."""
    trio.run(until, directory, condition, limit_s)


def has_event(run: Path, event: str, **fields: object) -> bool:
    """Some node has written such an event."""
    return any(all(line[name] == value for name, value in fields.items()) for line in events_of(run, event))


def process_of(run: Path, node: str, among: psutil.Process) -> psutil.Process:
    """The process that is `node` now, by the file that its output goes to."""
    for process in among.children(recursive=True):
        try:
            if any(Path(file.path).name.startswith(f"{node}.") for file in process.open_files()):
                return process
        except psutil.NoSuchProcess:
            continue
    raise AssertionError(f"{node} of {run} has no process")
