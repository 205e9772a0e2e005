"""A verdict is never better than its evidence.

A real run's files, changed, and their verdicts.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from audit.audited_run import audit_runs
from audit.expected import expected_of
from emulator.judging.completeness import incomplete
from emulator.judging.findings import EventCount, Note
from emulator.runs.verdict_file import Verdict
from verification.changed_evidence import changes
from verification.changed_run import GONE, Change, Files, Line
from verification.evidence import base_run, files_of, judged, write_changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED = 7
AT_ONCE = 60
"""Changes that one query judges; a query costs as much for a few."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base_run(tmp_path_factory.mktemp("evidence"))


# --- the rows of a review ---


def _without(files: Files, *names: str) -> Files:
    return {name: lines for name, lines in files.items() if name not in names}


def _renumbered(files: Files, wanted: Callable[[str, Line], bool]) -> Files:
    """Those lines alone, with numbers that have no gap."""
    kept: Files = {}
    for name, lines in files.items():
        kept[name] = [line | {"seq": n} for n, line in enumerate((x for x in lines if wanted(name, x)), start=1)]
    return kept


def _first(files: Files, name: str, event: str, **fields: Any) -> Line:
    return next(
        line for line in files[name] if line["event"] == event and all(line[key] == v for key, v in fields.items())
    )


def _no_faults(files: Files) -> Files:
    return _renumbered(files, lambda _, line: not line["event"].startswith("fault_"))


def _not_in_force_at_one(files: Files) -> Files:
    gone = _first(files, "broker-2.1.jsonl", "fault_in_force")
    return _renumbered(files, lambda _, line: line is not gone)


def _ends_early(node: str) -> Callable[[Files], Files]:
    def cut(files: Files) -> Files:
        files[node] = files[node][: len(files[node]) // 2]
        return files

    return cut


def _lines_of_another_run(files: Files) -> Files:
    files["broker-1.1.jsonl"].append(files["broker-1.1.jsonl"][-1] | {"run": "another", "seq": 900})
    return files


def _another_name(files: Files) -> Files:
    files["broker-1.1.jsonl"] = [line | {"node": "broker-7"} for line in files["broker-1.1.jsonl"]]
    return files


def _log_without_its_beginning(files: Files) -> Files:
    gone = _first(files, "broker-2.1.jsonl", "batch_appended", base_offset=0)
    return _renumbered(files, lambda _, line: line is not gone)


def _one_number_twice(files: Files) -> Files:
    lines = files["observer.1.jsonl"]
    place = next(n for n, line in enumerate(lines) if line["event"] == "operation_ended")
    lines[place] = dict(lines[place - 1])
    return files


def _one_offset_twice(files: Files) -> Files:
    line = _first(files, "broker-1.1.jsonl", "batch_appended", base_offset=1)
    line["base_offset"] = line["last_offset"] = 0
    return files


def _set(name: str, event: str, **fields: Any) -> Callable[[Files], Files]:
    def change(files: Files) -> Files:
        _first(files, name, event).update(fields)
        return files

    return change


def _ended_twice(files: Files) -> Files:
    lines = files["observer.1.jsonl"]
    ended = _first(files, "observer.1.jsonl", "operation_ended")
    lines.insert(lines.index(ended) + 1, dict(ended))
    return _renumbered(files, lambda *_: True)


def _leader_without_role(files: Files) -> Files:
    gone = _first(files, "broker-0.1.jsonl", "role_changed", role="leader")
    return _renumbered(files, lambda _, line: line is not gone)


def _clock_goes_back(files: Files) -> Files:
    files["broker-1.1.jsonl"][-3]["at_ms"] -= 60_000.0
    return files


ROWS: dict[str, tuple[Callable[[Files], Files], str]] = {
    "every fault event": (_no_faults, "the scenario did 1 faults on links, and events report 0"),
    "in force at one node": (_not_in_force_at_one, "is not reported in force at broker-2"),
    "a broker's file ends early": (_ends_early("broker-1.1.jsonl"), "the events of broker-1, incarnation 1, end at "),
    "a client's file ends early": (_ends_early("client-0.1.jsonl"), "the events of client-0, incarnation 1, end at "),
    "no file of the final leader": (lambda f: _without(f, "broker-1.1.jsonl"), "no events of broker-1, incarnation 1"),
    "no file of the stale leader": (lambda f: _without(f, "broker-0.1.jsonl"), "no events of broker-0, incarnation 1"),
    "no file of an idle client": (lambda f: _without(f, "client-0.1.jsonl"), "no events of client-0, incarnation 1"),
    "no file of a first life": (lambda f: _without(f, "broker-2.1.jsonl"), "no events of broker-2, incarnation 1"),
    "no file of a last life": (lambda f: _without(f, "broker-2.2.jsonl"), "no events of broker-2, incarnation 2"),
    "lines of another run": (_lines_of_another_run, "of another run, another: 1"),
    "a node calls itself another": (_another_name, "of broker-7, incarnation 1, in the file broker-1.1.jsonl"),
    "a log without its beginning": (_log_without_its_beginning, ""),
    "one number twice, one missing": (_one_number_twice, "some numbers up to "),
    "one offset twice, one missing": (_one_offset_twice, ""),
    "no digest at a follower": (_set("broker-1.1.jsonl", "batch_appended", digest=None), "batch_appended lacks digest"),
    "no leading": (_set("broker-1.1.jsonl", "high_watermark_moved", leading=None), "lacks leading"),
    "no role": (_set("broker-1.1.jsonl", "role_changed", role=None), "role_changed lacks role"),
    "no outcome": (_set("observer.1.jsonl", "operation_ended", outcome=None), "operation_ended lacks outcome"),
    "an operation ended twice": (_ended_twice, "of operations of observer, incarnation 1, 1 ended more than once"),
    "a leader without a role": (_leader_without_role, "broker-0, incarnation 1, appended as leader"),
    "a clock that goes back": (_clock_goes_back, "the clock of broker-1 went back in its incarnation 1"),
    "a log found too long": (_set("broker-2.2.jsonl", "log_loaded", log_end=100), "__consumer_offsets-0 up to 100"),
    "failed, and was done": (
        _set("observer.1.jsonl", "operation_ended", outcome="failed"),
        "1 failed although an attempt succeeded",
    ),
}
"""{what is changed: (how, part of the reason; "": a check says it)}"""


AMONG_MANY = (
    *("a clock that goes back", "one number twice, one missing", "an operation ended twice"),
    *("a leader without a role", "no file of the final leader", "a log found too long"),
)
"""Checks whose evidence comes from other queries or tables there."""

Verdicts = dict[str, Verdict]


@pytest.fixture(scope="module")
def changed(run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The run of every row."""
    folder = tmp_path_factory.mktemp("rows")
    return {
        what: write_changed(Change(what, what, GONE, change(files_of(run))), folder / str(number))
        for number, (what, (change, _)) in enumerate(ROWS.items())
    }


def _judged(spark: SparkSession, run: Path, changed: dict[str, Path], folder: Path) -> Verdicts:
    """Of every row, by one query."""
    expected = expected_of(run)
    judged = audit_runs(spark, [run, *changed.values()], scratch=str(folder), expected=lambda _: expected)
    return dict(zip(("as it was", *changed), judged, strict=True))


@pytest.fixture(scope="module")
def verdicts(
    run: Path, spark: SparkSession, changed: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Verdicts:
    return _judged(spark, run, changed, tmp_path_factory.mktemp("judged"))


@pytest.mark.spark
def test_the_run_as_it_was_is_valid(verdicts: dict[str, Verdict]) -> None:
    assert (verdicts["as it was"].valid, verdicts["as it was"].unknown_because) == (True, [])


@pytest.mark.spark
@pytest.mark.parametrize("what", ROWS)
def test_what_is_missing_makes_the_run_unknown_and_is_named(verdicts: dict[str, Verdict], what: str) -> None:
    verdict, (_, reason) = verdicts[what], ROWS[what]
    assert verdict.valid == "unknown", verdict
    reported = [*verdict.unknown_because, *(check.reason for check in verdict.checks.values())]
    assert any(reason in one for one in reported), reported
    if reason and "fault" not in what and "in force" not in what:
        assert "held" not in {check.verdict for check in verdict.checks.values()}


@pytest.mark.spark
def test_a_run_is_as_unknown_among_many(
    verdicts: Verdicts,
    run: Path,
    spark: SparkSession,
    changed: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run is believed as little among many.

    Many small runs are judged the way of big ones: each of their lines is checked all the same.
    """
    monkeypatch.setattr("audit.audit_run.SMALL_MAX_BYTES", 0)
    for what, reported in _judged(spark, run, {what: changed[what] for what in AMONG_MANY}, tmp_path).items():
        alone = verdicts[what]
        assert (reported.valid, reported.unknown_because) == (alone.valid, alone.unknown_because), what


@pytest.mark.parametrize("name", ["scenario.yaml", "settings.json", "observations.json"])
def test_a_run_that_lacks_what_it_was_to_be_is_unfinished(run: Path, name: str, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(run, tmp_path / "run"))
    assert expected_of(copied).unfinished == ""
    (copied / name).unlink()
    assert f"no {name}" in expected_of(copied).unfinished


# --- by generation ---


@pytest.mark.spark
@pytest.mark.slow
def test_no_change_makes_a_verdict_better_than_its_evidence(run: Path, spark: SparkSession, tmp_path: Path) -> None:
    some = list(islice(changes(files_of(run), SEED), AT_ONCE))
    wrong = {
        f"{one.change.kind}, {one.change.what}": one.wrong
        for one in judged(spark, run, some, tmp_path, at_once=AT_ONCE)
        if one.wrong
    }
    assert not wrong


# --- runs that nothing is missing of ---


def _lives(**last_ms: float) -> list[EventCount]:
    """{node_incarnation: when it told something last}; each told two events, at 0 ms and then."""
    lives = ((name.rpartition("_"), ms) for name, ms in last_ms.items())
    return [
        EventCount(node.replace("_", "-"), int(number), "x", None, 2, 1, 2, 0.0, ms, 3, 5, 0, 0)
        for (node, _, number), ms in lives
    ]


def _note(event: str, at_ms: float, node: str, incarnation: int = 1, **fields: Any) -> Note:
    return Note(event=event, node=node, incarnation=incarnation, seq=1, at_ms=at_ms, **fields)


def _begun(*nodes: str) -> Iterator[Note]:
    return (_note("node_started", 0.0, node) for node in nodes)


def test_a_cluster_that_goes_on_owes_no_end() -> None:
    """Every process reports every few seconds that it lives.

    A process that stands still, or was killed, reported before.
    """
    notes = [*_begun("broker-0", "broker-1")]
    assert incomplete(_lives(broker_0_1=60_000.0, broker_1_1=52_000.0), notes) == []
    [why] = incomplete(_lives(broker_0_1=60_000.0, broker_1_1=40_000.0), notes)
    assert why.endswith("broker-1, incarnation 1, end at 40000 ms (number 2), and the run goes on until 60000 ms")
    for what in ("kill", "pause"):
        reported = [*notes, _note("machine_fault", 41_000.0, "injector", what=what, target="broker-1", life=1)]
        assert incomplete(_lives(broker_0_1=60_000.0, broker_1_1=40_000.0), reported) == []
        assert incomplete(_lives(broker_0_1=60_000.0, broker_1_1=10_000.0), reported) != []


def test_a_run_that_was_played_to_its_end_is_owed_every_end() -> None:
    notes = [*_begun("broker-0", "broker-1"), _note("node_stopped", 60_000.0, "broker-0", code=0)]
    counts = _lives(broker_0_1=60_000.0, broker_1_1=60_000.0)
    [why] = incomplete(counts, notes, over=True)
    assert why == "the events of broker-1, incarnation 1, end at 60000 ms (number 2), and no event reports its end"
    assert incomplete(counts, [*notes, _note("node_stopped", 60_000.0, "broker-1", code=0)], over=True) == []


def test_a_node_started_just_now_may_have_no_events_yet() -> None:
    started = _note("machine_fault", 59_000.0, "injector", what="start", target="broker-1", life=1)
    counts, notes = _lives(broker_0_1=60_000.0), [*_begun("broker-0"), started]
    assert incomplete(counts, notes) == []
    assert incomplete(counts, notes, over=True) != []
    assert incomplete(_lives(broker_0_1=70_000.0), notes) == [
        "no events of broker-1, incarnation 1, are there, and it was started"
    ]
