"""Pre-tests leave out no part of an audit that has a row, and most parts of a clean run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from audit.checks.check_registry import CHECKS
from audit.derived_tables import FLOORS
from audit.event_groups import TABLES
from audit.input import read_directory
from audit.parsed_events import parsed_events
from audit.pretests.part_pretests import may_have_rows
from audit.pretests.pretest_registry import PRETESTS
from audit.pretests.pretested_run import pretested
from audit.questions import How, Part, parts_of
from audit.small_runs import needed
from protocol import events as e
from tests.audit.together import Judged
from tests.audit.trace import Trace, dual_leader
from verification.pretest_soundness import hidden_parts

ALL = parts_of(tuple(CHECKS.values()), How(tallied=True, wire=False))
ALWAYS = {"counts", "notes"}
"""Questions about every run."""


def clean() -> Trace:
    return Trace().cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0).produce("b", at=1)


def parts_with_rows(trace: Trace, folder: Path) -> list[Part]:
    files = parsed_events([read_directory(trace.write(folder))])
    assert files is not None and files.pretested is not None
    return [part for part in ALL if part.may_have_rows(files.pretested)]


def test_every_pretest_is_of_a_part_or_a_table() -> None:
    parts = {(part.kind, part.of) for part in ALL} | {("table", table) for floor in FLOORS for table in floor}
    assert {*PRETESTS} <= parts
    assert {name for kind, name in parts - {*PRETESTS} if kind == "about"} == ALWAYS


def test_a_clean_run_has_two_questions(tmp_path: Path) -> None:
    parts = parts_with_rows(clean(), tmp_path)
    assert {part.of for part in parts} == ALWAYS
    assert needed(parts) == {"rest"}


def test_a_check_without_a_pretest_may_have_rows(tmp_path: Path) -> None:
    files = parsed_events([read_directory(clean().write(tmp_path))])
    assert files is not None and files.pretested is not None
    own = msgspec.structs.replace(CHECKS["dual-leader"], name="mine")
    [part, *_] = parts_of([own], How(tallied=True, wire=False))
    assert part.may_have_rows(files.pretested)
    assert {"overlaps", "appends", "operations", "rest", "invocations"} <= needed([part])


def test_a_fault_has_the_questions_that_it_bears_on(tmp_path: Path) -> None:
    parts = {part.of for part in parts_with_rows(dual_leader(), tmp_path)}
    assert ALWAYS | {"dual-leader", "two-at-once"} <= parts
    assert not parts & {"log-matching", "phantom-read", "duplicate", "epoch-cache", "no-leader"}


@pytest.mark.parametrize(
    "lines",
    [
        ((1, 5.0), (1, 5.0)),
        ((2, 5.0), (1, 5.0)),
        ((1, 5.0), (2, 4.0)),
    ],
    ids=["one number twice", "numbers that fall", "a clock that goes back"],
)
def test_lines_out_of_order_are_not_pretested(lines: tuple[tuple[int, float], ...]) -> None:
    rows = [{"node": "n", "incarnation": 1, "event": "scenario_step", "seq": seq, "at_ms": at} for seq, at in lines]
    assert pretested([rows[:1]]) is not None and pretested([rows[:1], []]) is not None
    assert pretested([rows]) is None
    assert pretested([rows[:1], rows[:1]]) is None


def test_an_operation_of_two_nodes_is_not_pretested() -> None:
    line = {"incarnation": 1, "event": "operation_invoked", "seq": 1, "at_ms": 1.0, "operation": "a:1"}
    assert pretested([[line | {"node": "a"}], [line | {"node": "b"}]]) is None


def test_a_line_that_is_no_event_leaves_the_run_to_spark(tmp_path: Path) -> None:
    trace = clean()
    trace.files["broker-0", 1, False].append(b"{]\n")
    assert parsed_events([read_directory(trace.write(tmp_path))]) is None


def test_pretests_and_spark_read_the_same_rows(tmp_path: Path) -> None:
    files = parsed_events([read_directory(dual_leader().write(tmp_path))])
    assert files is not None and files.pretested is not None
    [run] = files.pretested
    read = {event: [*run.of(event)] for event in {row["event"] for row in run.all()}}
    for table, (event, columns) in TABLES.items():
        rows = [{name: row.get(name) for name in columns} | {"run": "dual-leader"} for row in read.get(event, [])]
        of_spark = files.tables[table].to_pylist()
        assert sorted(map(repr, of_spark)) == sorted(map(repr, rows)), table
    assert sum(map(len, read.values())) == sum(rows.num_rows for rows in files.tables.values())


@pytest.mark.spark
def test_no_pretest_hides_what_a_trace_was_made_for(verdicts_together: dict[str, Judged]) -> None:
    """Most of the traces have a violation. Judged together, they have no pre-tests."""
    hidden = {name: hidden_parts(judged.run, judged.verdict) for name, judged in verdicts_together.items()}
    assert {name: parts for name, parts in hidden.items() if parts} == {}


@pytest.mark.parametrize("name", ["lost", "copied", "leaps", "unreadable"])
def test_a_table_with_suspects_is_made(name: str, tmp_path: Path) -> None:
    trace = clean()
    batch = e.BatchAppended("t", 0, 1, 1, 0, 7, True)
    if name == "lost":
        trace.produce("x", at=2, followers=(), acks=1).leader(1, epoch=1)
    elif name == "copied":
        trace.produce("a", at=2)
    elif name == "leaps":
        trace.emit("client-0", e.RecordsRead("client-0.1:9", "t", 0, 0, 0, 0, 7, 2, 0))
        trace.emit("client-0", e.RecordsRead("client-0.1:9", "t", 0, 5, 5, 0, 7, 6, 0))
    else:
        trace.emit("broker-0", msgspec.structs.replace(batch, base_offset=9, last_offset=9))
    files = parsed_events([read_directory(trace.write(tmp_path))])
    assert files is not None and files.pretested is not None
    assert may_have_rows("table", name, files.pretested)
