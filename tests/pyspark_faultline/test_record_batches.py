"""Partitions of a table and their record batches, without Spark's virtual machine."""

from __future__ import annotations

import os
import pickle
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql.datasource import InputPartition

from audit import line_ranges
from audit.event_groups import TABLES
from audit.input import AuditInputError
from audit.single_lines import TOO_LONG
from protocol.events import EVENTS as KINDS
from protocol.events.event_parsing import LINE_BYTES_MAX, event_in
from pyspark_faultline import FaultlineDataSource
from pyspark_faultline.batch_reader import BatchReader
from pyspark_faultline.range_partitions import ranges_in
from pyspark_faultline.source_groups import EVENTS, GROUPS, QUARANTINE
from tests.attack.test_hostile_runs import BROKEN, SOUND, TAILS, encoded, line_of, run_with
from tests.audit.strange_lines import NASTY, changed
from tests.audit.trace import Trace, dual_leader

BLOCK_SIZES = (60, 700, 4 << 20)


def reader_of(path: Path | str, group: str = EVENTS, **options: str) -> BatchReader:
    source = FaultlineDataSource({"path": str(path), "group": group, **options})
    return source.reader(source.schema())


def rows_of(path: Path | str, group: str = EVENTS) -> list[dict[str, Any]]:
    reader = reader_of(path, group)
    return [row for partition in reader.partitions() for batch in reader.read(partition) for row in batch.to_pylist()]


def strange(tmp_path: Path) -> Path:
    """A run whose lines are changed at random, between good ones."""
    drawn = random.Random(7)
    trace = dual_leader()
    lines = trace.files["broker-0", 1, False]
    good = [line.rstrip(b"\n") for line in lines]
    lines += [changed(drawn.choice(good), drawn) + b"\n" for _ in range(300)] + [line + b"\n" for line in NASTY] + lines
    return trace.write(tmp_path)


def of_files(run: Path) -> list[dict[str, Any]]:
    """The events of a sound run's files as every other reader has them, in order."""
    paths = sorted((run / "events").iterdir(), key=lambda path: path.name)
    return [event for path in paths for line in path.read_bytes().splitlines() if (event := event_in(line))]


@pytest.mark.parametrize("bytes_a_block", BLOCK_SIZES)
def test_events_are_those_of_the_files_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_a_block: int
) -> None:
    monkeypatch.setattr(line_ranges, "BLOCK_BYTES", bytes_a_block)
    run = dual_leader().write(tmp_path)
    rows = rows_of(run)
    assert [{name: value for name, value in row.items() if value is not None} for row in rows] == of_files(run)
    assert [*rows[0]] == [*GROUPS[EVENTS].columns]


@pytest.mark.parametrize("group", [*TABLES, "rest"])
def test_a_group_has_its_events_and_columns(tmp_path: Path, group: str) -> None:
    run = dual_leader().write(tmp_path)
    ours = [e for e in of_files(run) if TABLES.get(group, ("", ()))[0] == e["event"]]
    if group == "rest":
        kinds = {event for event, _ in TABLES.values()}
        ours = [event for event in of_files(run) if event["event"] not in kinds]
    assert rows_of(run, group) == [{name: event.get(name) for name in GROUPS[group].columns} for event in ours]


@pytest.mark.parametrize("group", [EVENTS, "appends", QUARANTINE])
def test_rows_do_not_depend_on_blocks_and_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str
) -> None:
    run = strange(tmp_path)
    usual = rows_of(run, group)
    assert usual
    for size_bytes in BLOCK_SIZES:
        monkeypatch.setattr(line_ranges, "BLOCK_BYTES", size_bytes)
        monkeypatch.setattr(line_ranges, "PIECE_BYTES", max(1, size_bytes // 100))
        assert sorted(map(repr, rows_of(run, group))) == sorted(map(repr, usual))


@pytest.mark.parametrize("lines", BROKEN.values(), ids=BROKEN)
def test_lines_that_are_no_events_are_in_quarantine_alone(tmp_path: Path, lines: bytes) -> None:
    run = run_with(tmp_path / "r", lines)
    assert [row["seq"] for row in rows_of(run)] == [1, 2, 3, 4]
    broken = rows_of(run, QUARANTINE)
    assert len(broken) == sum(bool(line.strip(b" ")) for line in lines.replace(b"\r", b"\n").split(b"\n"))
    text = (run / "events" / "broker-0.1.jsonl").read_bytes()
    for row in broken:
        assert (row["run"], row["file"], row["torn"]) == ("r", "broker-0.1.jsonl", False)
        assert text[row["offset"] :].decode("utf-8", "replace").startswith(row["line"])
        assert 0 < len(row["line"]) <= 4096 and row["reason"]


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_a_torn_line_is_marked(tmp_path: Path, tail: bytes) -> None:
    run = run_with(tmp_path / "r", tail)
    [row] = rows_of(run, QUARANTINE)
    assert row["torn"] and row["offset"] == len(encoded(*SOUND))
    assert len(rows_of(run)) == len(SOUND)


def test_a_last_line_that_lacks_its_end_alone_is_an_event(tmp_path: Path) -> None:
    run = run_with(tmp_path / "r", encoded(line_of("node_stopped", 5))[:-1])
    assert [row["seq"] for row in rows_of(run)] == [1, 2, 3, 4, 5]
    assert rows_of(run, QUARANTINE) == []


def test_a_line_that_is_too_long_is_named_and_never_held(tmp_path: Path) -> None:
    run = run_with(tmp_path / "r", b"")
    with (run / "events" / "broker-0.1.jsonl").open("ab") as file:
        for _ in range(8):
            file.write(b"x" * LINE_BYTES_MAX)
        file.write(b"\n" + encoded(line_of("node_stopped", 5)))
    tracemalloc.start()
    try:
        [row] = rows_of(run, QUARANTINE)
        assert [row["seq"] for row in rows_of(run)] == [1, 2, 3, 4, 5]
        assert tracemalloc.get_traced_memory()[1] < 5 * LINE_BYTES_MAX
    finally:
        tracemalloc.stop()
    assert (row["reason"], row["offset"], row["line"]) == (TOO_LONG, len(encoded(*SOUND)), "x" * 4096)


def test_many_lines_that_are_no_events_are_never_held_at_once(tmp_path: Path) -> None:
    run = run_with(tmp_path / "r", b"x\n" * 300_000)
    reader = reader_of(run, QUARANTINE)
    sizes = [batch.num_rows for partition in reader.partitions() for batch in reader.read(partition)]
    assert sum(sizes) == 300_000 and max(sizes) <= line_ranges.PIECE_BYTES


def test_lines_of_another_node_incarnation_or_run_are_in_quarantine(tmp_path: Path) -> None:
    others = [line_of("node_stopped", 5, **{name: value}) for name, value in
              (("node", "broker-1"), ("incarnation", 2), ("run", "other"))]  # fmt: skip
    run = run_with(tmp_path / "r", encoded(*others))
    assert [row["reason"] for row in rows_of(run, QUARANTINE)] == [
        "of broker-1, incarnation 1, in the file broker-0.1.jsonl",
        "of broker-0, incarnation 2, in the file broker-0.1.jsonl",
        "of another run, other",
    ]


@pytest.mark.parametrize("event", KINDS)
def test_a_single_line_has_the_row_that_arrow_makes_of_it(tmp_path: Path, event: str) -> None:
    line = line_of(event, 5)
    whole, single = run_with(tmp_path / "a" / "r", encoded(line)), run_with(tmp_path / "b" / "r", encoded(line, b"{}"))
    assert rows_of(whole) == rows_of(single)
    assert len(rows_of(whole)) == len(SOUND) + 1


# --- runs, and files that are none ---


def test_runs_of_several_folders_have_names_of_their_own(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        dual_leader().write(tmp_path / folder)
    assert {row["run"] for row in rows_of(tmp_path / "a")} == {"dual-leader"}
    assert {row["run"] for row in rows_of(f"{tmp_path}/a,{tmp_path}/b/*")} == {"a/dual-leader", "b/dual-leader"}


def test_an_unusable_run_is_refused_with_its_sentence(tmp_path: Path) -> None:
    run = dual_leader().write(tmp_path)
    for path, sentence in (
        (tmp_path / "dual-lead", f"{tmp_path}/dual-lead: no such directory; nearest: {run}"),
        (run / "events", f"{run}/events: not a run, it has no folder events; did you mean {run}?"),
        (tmp_path / "x*", f"{tmp_path}/x*: no run matches"),
    ):
        with pytest.raises(AuditInputError) as error:
            reader_of(path).partitions()
        assert str(error.value) == sentence


def linked(path: Path) -> None:
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize("make", [linked, os.mkfifo, Path.mkdir], ids=["link", "pipe", "folder"])
def test_only_regular_files_are_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    run = run_with(tmp_path / "r", b"")
    reader = reader_of(run)
    partitions = reader.partitions()
    make(run / "events" / "x.1.jsonl")
    with pytest.raises(AuditInputError, match=r"x\.1\.jsonl: cannot be read: is "):
        reader.partitions()
    path = run / "events" / "broker-0.1.jsonl"
    path.unlink()
    make(path)
    with pytest.raises(AuditInputError, match=r"broker-0\.1\.jsonl: cannot be read: is .*; load the run when"):
        [*reader.read(partitions[0])]


def test_a_file_that_became_shorter_or_vanished_is_named(tmp_path: Path) -> None:
    run = run_with(tmp_path / "r", b"")
    reader = reader_of(run)
    [partition] = reader.partitions()
    path = run / "events" / "broker-0.1.jsonl"
    os.truncate(path, 100)
    with pytest.raises(AuditInputError, match="cannot be read: became shorter while it was read"):
        [*reader.read(partition)]
    path.unlink()
    with pytest.raises(AuditInputError, match="cannot be read: No such file"):
        [*reader.read(partition)]


# --- partitions and filters ---


def two_runs(tmp_path: Path) -> Path:
    for name in ("first", "second"):
        trace = dual_leader()
        trace.run = name
        trace.write(tmp_path)
    return tmp_path


def test_small_files_share_a_partition_and_large_ones_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = dual_leader().write(tmp_path)
    [partition] = reader_of(run).partitions()
    assert len(ranges_in(partition)) == len([*(run / "events").iterdir()])
    monkeypatch.setattr(line_ranges, "BLOCK_BYTES", 1_000)
    partitions = reader_of(run).partitions()
    assert len(partitions) > 3
    assert all(sum(one.end - one.begin for one in ranges_in(cut)) < 2_000 for cut in partitions)
    assert [one for cut in partitions for one in ranges_in(cut)] == [
        one for cut in reader_of(run).partitions() for one in ranges_in(cut)
    ]
    assert ranges_in(pickle.loads(pickle.dumps(partitions[1]))) == ranges_in(partitions[1])


def test_only_events_and_quarantine_need_the_wire_level(tmp_path: Path) -> None:
    trace = dual_leader()
    trace.files["broker-0", 1, True] = [msgspec.json.encode(line_of("frame_sent", 900, run="dual-leader")) + b"\n"]
    run = trace.write(tmp_path)
    for group in GROUPS:
        read = {one.source.file for part in reader_of(run, group).partitions() for one in ranges_in(part)}
        assert ("broker-0.1.wire.jsonl" in read) == (group in (EVENTS, QUARANTINE)), group
    assert [row["seq"] for row in rows_of(run) if row["event"] == "frame_sent"] == [900]


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        ({"run": "second"}, lambda row: row["run"] == "second"),
        ({"node": "broker-0,x", "incarnation": "1"}, lambda row: row["node"] == "broker-0"),
        ({"incarnation": "2"}, lambda row: False),
        ({"event": "role_changed", "run": "first,second"}, lambda row: row["event"] == "role_changed"),
        ({"node": ""}, lambda row: False),
    ],
)
def test_only_selected_rows_are_read(
    tmp_path: Path, options: dict[str, str], selected: Callable[[dict[str, Any]], bool]
) -> None:
    folder = two_runs(tmp_path)
    reader = reader_of(folder, **options)
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert rows == [row for row in rows_of(folder) if selected(row)]


def test_files_that_are_not_selected_are_not_read(tmp_path: Path) -> None:
    partitions = reader_of(two_runs(tmp_path), run="first", node="broker-0").partitions()
    assert {(one.key, one.source.file) for cut in partitions for one in ranges_in(cut)} == {
        ("first", "broker-0.1.jsonl")
    }


def test_rows_of_a_file_with_a_name_of_its_own_are_selected_one_by_one(tmp_path: Path) -> None:
    run = run_with(tmp_path / "r", b"")
    lines = [line_of("node_stopped", seq, node=node, incarnation=seq) for seq, node in ((1, "x"), (2, "x.1"))]
    (run / "events" / "x.1.2.jsonl").write_bytes(encoded(*lines))
    reader = reader_of(run, node="x.1")
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert [(row["node"], row["seq"]) for row in rows] == [("x.1", 2)]


def test_a_selected_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AuditInputError, match="option run: frist: no such run was loaded; nearest: first"):
        reader_of(two_runs(tmp_path), run="frist").partitions()


def test_a_table_without_files_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    reader = reader_of(tmp_path)
    assert reader.partitions() == []
    assert [*reader.read(InputPartition(None))] == []
    assert rows_of(Trace().write(tmp_path / "x"), "appends") == []
