"""A directory that grows step by step, followed with Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from audit.following import stream as stream_module
from audit.following.follow_stream import Follow
from audit.following.live_audit_output import Telling
from audit.following.stream import streaming
from audit.input import find_runs
from emulator.cluster.newest_findings import read_newest
from tests.audit.trace import Trace, dual_leader, healthy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class Writing:
    """Writes a trace's lines, a few at a time, into a run's directory.

    The lines of each file keep their order, whatever their times.
    """

    def __init__(self, trace: Trace, directory: Path) -> None:
        self.run = directory / trace.run
        (self.run / "events").mkdir(parents=True)
        lines = [
            (msgspec.json.decode(line)["at_ms"], number, f"{node}.{incarnation}.jsonl", line)
            for (node, incarnation, _), of_life in trace.files.items()
            for number, line in enumerate(of_life)
        ]
        self._left = [(name, line) for _, _, name, line in sorted(lines)]

    @property
    def left(self) -> int:
        return len(self._left)

    def write(self, count: int) -> None:
        for name, line in self._left[:count]:
            self.add(name, line)
        del self._left[:count]

    def add(self, name: str, data: bytes) -> None:
        with (self.run / "events" / name).open("ab") as file:
            file.write(data)


class Clock:
    """Seconds that pass when a caller waits."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_run_is_followed_while_it_is_written(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New lines, a torn one, invalid lines, a node's next incarnation, another Spark query.

    And the end.
    """
    monkeypatch.setattr(stream_module, "QUERY_STEPS", 1)
    trace = dual_leader().kill("broker-2").start("broker-2").stop("broker-2")
    writing, clock = Writing(trace, tmp_path), Clock()
    printed: list[str] = []
    warned: list[str] = []
    writing.write(40)
    [directory] = find_runs([writing.run])
    telling = Telling(writing.run, printed.append, warned.append, json=True)
    broken: list[str] = []

    def wait(seconds: float) -> None:
        clock.now_s += seconds
        if not broken:
            broken.append("broker-1.1.jsonl")
            writing.add(broken[0], b'{"x":1}\n{"x":2}\nnothing\n')
        writing.write(25)
        if not writing.left:
            writing.add("client-0.1.jsonl", b'{"format":1,"ru')

    with streaming(spark, directory, tmp_path / "scratch") as stream:
        follow = Follow(directory, stream, telling, clock=clock)
        code = follow.until_over(lambda: writing.left > 0, wait)
    newest = read_newest(writing.run)
    assert newest is not None and {"leader-change", "dual-leader"} < {one.finding for one in newest.newest}
    telling.close()
    lines = [msgspec.json.decode(text) for written in printed for text in written.splitlines()]
    end = lines.pop()
    reported = [(line["finding"], line["state"], line["violation"]) for line in lines]
    assert reported.count(("lost-acknowledged", "told", True)) == 3
    assert reported.count(("leader-change", "told", False)) == 1
    assert ("dual-leader", "ended", True) in reported or ("dual-leader", "begun", True) in reported
    assert [line["text"].partition(";")[0] for line in lines if line["finding"] == "broken"] == [
        "broker-1.1.jsonl: 2 lines are no events, no format",
        "broker-1.1.jsonl: 1 lines are no events, no JSON object of the schema's types",
    ]
    assert (end["state"], end["exit_code"], code) == ("over", 1, 1)
    assert end["violations"] == {"dual-leader": 1, "lost-acknowledged": 3}
    assert end["lacking"] == ["3 lines are no events"]
    assert read_newest(writing.run) is None and warned == []
    assert stream.queries >= 2 and not list((tmp_path / "scratch").iterdir())


def test_an_interrupt_prints_the_findings_so_far(spark: SparkSession, tmp_path: Path) -> None:
    trace = dual_leader()
    trace.at_ms += 5_000
    run = trace.stop("session-0").write(tmp_path)
    [directory] = find_runs([run])
    printed: list[str] = []

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), streaming(spark, directory, tmp_path / "scratch") as stream:
        follow = Follow(directory, stream, Telling(run, printed.append, printed.append, json=True), clock=Clock())
        follow.until_over(lambda: True, interrupted)
    end = msgspec.json.decode(printed[-1])
    assert (end["state"], end["exit_code"], end["violations"]["dual-leader"]) == ("interrupted", 130, 1)
    assert not list((tmp_path / "scratch").iterdir())


def test_what_is_not_violated_is_unknown_where_evidence_lacks(spark: SparkSession, tmp_path: Path) -> None:
    ends: list[Any] = []
    for name, text, wanted in (("whole", b"", 0), ("broken", b"nothing\n", 3)):
        trace = healthy()
        trace.run = name
        run = trace.write(tmp_path)
        with (run / "events" / "broker-0.1.jsonl").open("ab") as file:
            file.write(text)
        [directory] = find_runs([run])
        with streaming(spark, directory, tmp_path / f"scratch-{name}") as stream:
            telling = Telling(run, ends.append, ends.append, json=False)
            assert Follow(directory, stream, telling, clock=Clock()).until_over(lambda: False) == wanted
    assert "violated so far: nothing that is followed" in ends[0]
    assert "  lacking: 1 lines are no events\n" in ends[-1]
