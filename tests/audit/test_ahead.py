"""The audit that is planned before its run is played.

It has the same findings, or none; and never those of another run.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from audit.audit_run import judge
from audit.audited_run import audit_runs
from audit.checks.check_registry import CHECKS
from audit.event_lines import PROBLEM, read_lines
from audit.input import read_directory
from audit.query_warmup import BYTES_MAX, Ahead, _reading
from emulator.judging.findings import Judged
from protocol import events as e
from tests.audit.trace import Trace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEW = (CHECKS["lost-acknowledged"], CHECKS["dual-leader"])
QUICK = (CHECKS["no-leader"],)

pytestmark = pytest.mark.spark


def lossy() -> Trace:
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0)
    trace.emit("broker-0", e.FrameSent("broker-0.1#1", "broker-1", "fetcher", 1, "FETCH", "request", 1, 100))
    return trace.leader(1, epoch=1).produce("x", at=1, followers=(), acks=1)


def in_order(judged: Judged) -> Judged:
    judged.counts.sort(key=repr)
    judged.doubts.sort()
    return judged


def test_what_was_planned_before_there_was_a_run_finds_what_is_found_afterwards(
    spark: SparkSession, tmp_path: Path
) -> None:
    checks = tuple(CHECKS.values())
    ahead = Ahead(spark, tmp_path / "trace", checks)
    # Whoever asks meanwhile makes other tables of the same names.
    audit_runs(spark, [Trace("other").cluster().write(tmp_path)], scratch=str(tmp_path), checks=FEW)
    run = read_directory(lossy().write(tmp_path))
    reported = ahead.judge([run])
    assert reported is not None and ahead.problem == ""
    [afterwards] = judge(spark, [run], checks, str(tmp_path / "scratch"))
    assert in_order(reported[0]) == in_order(afterwards)
    [lost] = reported[0].findings["lost-acknowledged"].violations
    assert lost.details["value"] == "x", "what it wrote is looked up as well"


def with_a_line(line: bytes) -> Trace:
    trace = lossy()
    trace.files["broker-0", 1, False].append(line)
    return trace


def renamed() -> Trace:
    trace = lossy()
    trace._of_this_run = lambda line: line.replace(b'"run":"trace"', b'"run":"before"')  # type: ignore[method-assign]
    return trace


def test_a_run_that_needs_another_plan_is_not_judged_by_this_one(spark: SparkSession, tmp_path: Path) -> None:
    ahead = Ahead(spark, tmp_path / "trace", QUICK)
    otherwise = {
        "a topic was removed": lossy().emit("broker-2", e.TopicRemoved("t", 1)),
        "its directory was renamed": renamed(),
        "its last line is torn": with_a_line(b'{"format":1,"run":"tr'),
        "it is too big": with_a_line(b"x" * (BYTES_MAX + 1) + b"\n"),
        # the last, for it is found when all is read, and a plan is carried out once
        "a line is no event": with_a_line(b"{]\n"),
    }
    for why, trace in otherwise.items():
        run = trace.write(tmp_path)
        assert ahead.judge([read_directory(run)]) is None, why
        shutil.rmtree(run)


def test_another_run_is_not_judged(spark: SparkSession, tmp_path: Path) -> None:
    ahead = Ahead(spark, tmp_path / "elsewhere" / "trace", QUICK)
    assert ahead.judge([read_directory(lossy().write(tmp_path))]) is None


def test_what_cannot_be_planned_is_judged_in_the_usual_way(spark: SparkSession, tmp_path: Path) -> None:
    wrong = msgspec.structs.replace(FEW[0], violations="SELECT nothing FROM nowhere")
    ahead = Ahead(spark, tmp_path / "trace", (wrong, FEW[1]))
    assert "nowhere" in ahead.problem
    run = lossy().write(tmp_path)
    [verdict] = audit_runs(spark, [run], scratch=str(tmp_path / "scratch"), checks=FEW, ahead=ahead)
    assert verdict.checks["lost-acknowledged"].count == 1


COUNTING = """
SELECT run, '' AS topic, -1 AS partition, -1L AS offset, concat('of ', (SELECT count(*) FROM appends)) AS text,
  '{}' AS details
FROM (SELECT DISTINCT run FROM lines)"""


def test_a_subquery_runs_when_there_is_a_run(spark: SparkSession, tmp_path: Path) -> None:
    checks = (msgspec.structs.replace(FEW[0], violations=COUNTING, evidence=""), FEW[1])
    ahead = Ahead(spark, tmp_path / "trace", checks)
    trace = lossy()
    appends = sum(b'"batch_appended"' in line for lines in trace.files.values() for line in lines)
    reported = ahead.judge([read_directory(trace.write(tmp_path))])
    assert reported is not None and ahead.problem == ""
    [found] = reported[0].findings["lost-acknowledged"].violations
    assert found.text == f"of {appends}" and appends > 1


def test_a_reader_reads_all_that_spark_sends(tmp_path: Path) -> None:
    """Spark ends a Python process that stops reading early.

    It starts another for the next task: a fifth of a second.
    """
    run = lossy().write(tmp_path)
    given = iter([0])
    reported = dict(_reading(run, False)(given))
    assert [*given] == []
    assert sum(map(len, reported.values())) == sum(
        len(lines) for (*_, wire), lines in lossy().files.items() if not wire
    )


NASTY = (
    *(b"", b"   ", b"\xff\xfe", b"null", b"1", b"[]", b"{}", b'{"a":1}{"b":2}', b'{"format":1', b"\xef\xbb\xbf{}"),
    *(b'{"format":"1"}', b'{"format":1.0}', b'{"format":1e0}', b'{"format":1,"format":2}', b"{'format':1}"),
)


def changed(line: bytes, drawn: random.Random) -> bytes:
    """A variant of `line`: a field of another type, a duplicate field, cut or strange text."""
    fields = msgspec.json.decode(line)
    name = drawn.choice([*fields])
    # Not 1e300, which is "1e300" to one and "1.0E300" to the other where a text is expected.
    other = drawn.choice([None, True, -1, 2**63, 1.5, "", "7", "é\u2028", [1], {"a": 1}])
    match drawn.randrange(5):
        case 0:
            return msgspec.json.encode({**fields, name: other})
        case 1:
            return line[:-1] + b"," + msgspec.json.encode({name: other})[1:]
        case 2:
            return line[: drawn.randrange(len(line))]
        case 3:
            return line.replace(b'"', drawn.choice([b"'", b"\xff", b"\\u0041", b"\r"]), 1)
        case _:
            return drawn.choice(NASTY)


def test_a_line_is_read_as_an_audit_reads_it_or_called_no_event(spark: SparkSession, tmp_path: Path) -> None:
    """A line is read as an audit reads it, or is no event.

    Whatever the line: both see the same event, or this reader finds none and is then not believed.
    """
    drawn = random.Random(20_261_127)
    trace = lossy()
    lines = [line.rstrip(b"\n") for lines in trace.files.values() for line in lines]
    trace.files["broker-0", 1, False].extend(changed(drawn.choice(lines), drawn) + b"\n" for _ in range(2_000))
    run = read_directory(trace.write(tmp_path))
    ahead = Ahead(spark, run.path, QUICK)
    columns = ("run", "node", "incarnation", "seq", "at_ms", "event", "topic", "base_offset", "operation", "az")

    def counted(lines: DataFrame) -> Counter[tuple[str, ...]]:
        return Counter(tuple(map(repr, row)) for row in lines.collect())

    usual = counted(read_lines(spark, [run], columns).where(f"{PROBLEM} IS NULL"))
    here = counted(ahead.lines(columns).where(f"{PROBLEM} IS NULL"))
    assert here.total() > len(lines)
    assert here - usual == Counter()
