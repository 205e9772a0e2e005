"""A directory that grows step by step, followed with Spark; the findings equal the audit's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from audit.audited_run import audit_runs
from audit.following import stream as stream_module
from audit.following.follow_stream import Follow
from audit.following.followed import Followed
from audit.following.live_audit_output import Telling
from audit.following.stream import streaming
from audit.input import find_runs
from emulator.cluster.newest_findings import read_newest
from emulator.run_layout import EVENTS_FOLDER, event_paths
from emulator.runs.verdict_file import Verdict
from tests.audit.following.folding import events_in, in_fifths
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


def test_an_interrupt_says_what_was_seen_so_far(spark: SparkSession, tmp_path: Path) -> None:
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


# --- as the audit of the whole run ----------------------------------------------------------------------------------


def power_loss() -> Trace:
    trace = Trace().cluster().leader(0, epoch=0, followers=(1,)).produce("a", at=0, followers=(1,))
    trace.produce("b", at=1, followers=(), acks=1).produce("c", at=2, followers=(), acks=1)
    trace.kill("broker-0", "power-loss").start("broker-0").loaded(0, 1).leader(1, epoch=1)
    trace.produce("d", at=1, epoch=1, leader=1, followers=(0,))
    return trace


def controllers() -> Trace:
    trace = healthy().controller("broker-0", epoch=2).controller("broker-2", epoch=1, active=False)
    trace.controller_epoch(2).state(leader=1, epoch=1, isr=(1, 2)).state(leader=2, epoch=2, isr=(2,))
    return trace.controller("broker-1", epoch=3)


def failing() -> Trace:
    trace = healthy().ended("x", at=-1, outcome="unknown", error=-2).ended("y", at=-1, outcome="failed", error=6)
    trace.at_ms += 250
    return trace.append(0, "z", at=3, epoch=0, as_leader=True).ended("z", at=3)


def deleted() -> Trace:
    trace = dual_leader()
    for broker in (0, 1, 2):
        trace.role(broker, "offline", epoch=2).deleted(broker, 4)
    trace.removed()
    for broker in (0, 1, 2):
        trace.created(broker)
    return trace.leader(0, epoch=0, followers=(1, 2)).produce("n", at=0).ended("lost", at=1)


def untold() -> Trace:
    trace = dual_leader()
    return trace.append(1, "q", at=9, epoch=1, as_leader=True)


def multiple() -> Trace:
    """Batches of several records, one of them cut inside; acks=0.

    A wiped replica that then leads.
    """
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2))
    trace.append(0, "abc", at=0, last=2, epoch=0, as_leader=True).append(1, "abc", at=0, last=2, epoch=0)
    for at in range(3):
        trace.ended("abc", at=at)
    trace.append(0, "de", at=3, last=4, epoch=0, as_leader=True).ended("de", at=3, acks=1).ended("de", at=4, acks=1)
    trace.ended("never", at=-1, acks=0).role(0, "follower", epoch=1, leader=1).truncate(0, 3, log_end=5)
    trace.leader(1, epoch=1, followers=(0,)).append(1, "f", at=3, epoch=1, as_leader=True).ended("f", at=3, acks=1)
    return trace


TRACES = (healthy, dual_leader, power_loss, controllers, failing, deleted, untold, multiple)
FOLLOWED = ("dual-leader", "dual-controller", "lost-acknowledged")
Found = dict[str, tuple[int, list[Any]]]


def found_by_audit(verdict: Verdict) -> Found:
    """{check: how many, those of them that the verdict shows}"""
    checks = {name: verdict.checks[name] for name in FOLLOWED}
    return {name: (one.count, sorted(comparable(name, row) for row in one.evidence)) for name, one in checks.items()}


def found_by_follow(followed: Followed) -> Found:
    found: dict[str, list[Any]] = {name: [] for name in FOLLOWED}
    for seen in followed.findings.standing:
        if seen.violation:
            window = {"from_ms": seen.at_ms, "to_ms": seen.to_ms}
            found[seen.finding].append(comparable(seen.finding, {**seen.details, **window}))
    return {name: (len(rows), sorted(rows)) for name, rows in found.items()}


def comparable(name: str, row: dict[str, Any]) -> tuple[Any, ...]:
    if name == "lost-acknowledged":
        return row["operation"], row["offset"] if row.get("offset", -1) >= 0 else -1, row["acks"]
    if "controller_epoch" in row:
        return row["controller_epoch"], *row.get("nodes", (row.get("reached"), row.get("states")))
    names = ("stale", "stale_epoch", "newer", "newer_epoch", "from_ms", "batches", "acknowledged")
    return *(row.get(field) for field in names), row.get("to_ms") or -1.0


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Verdict, Path]]:
    """{name: verdict and run} of all, by one query."""
    folder = tmp_path_factory.mktemp("followed")
    runs: dict[str, Path] = {}
    for make in TRACES:
        trace = make()
        trace.run = make.__name__
        runs[make.__name__] = trace.write(folder)
    verdicts = audit_runs(spark, list(runs.values()), scratch=str(folder / "scratch"))
    return {name: (verdict, run) for (name, run), verdict in zip(runs.items(), verdicts, strict=True)}


@pytest.mark.parametrize("name", [make.__name__ for make in TRACES])
def test_at_the_end_a_follow_has_found_what_the_audit_finds(
    name: str, audited: dict[str, tuple[Verdict, Path]]
) -> None:
    verdict, run = audited[name]
    files = [events_in(path.read_bytes().splitlines()) for path in event_paths(run / EVENTS_FOLDER)]
    followed = in_fifths(files)
    found = found_by_follow(followed)
    for check, (count, evidence) in found_by_audit(verdict).items():
        assert found[check][0] == count, check
        assert set(evidence) <= set(found[check][1]), check
    if name == "untold":
        assert followed.findings.counts["not-judged"] == 1
        assert verdict.checks["lost-acknowledged"].verdict == "unknown"
    else:
        assert not followed.findings.counts["not-judged"]
    measured = followed.unavailable_ms(1000 * verdict.measures["wall_s"])
    for az, ms in verdict.measures["unavailable_ms"].items():
        assert measured[az] == ms, az
