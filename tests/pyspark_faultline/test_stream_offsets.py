"""Offsets and partitions of a stream, without Spark's virtual machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

from audit.input import AuditInputError
from protocol.events.event_parsing import LINE_BYTES_MAX
from pyspark_faultline import FaultlineDataSource
from pyspark_faultline.source_groups import EVENTS, QUARANTINE
from pyspark_faultline.stream_offsets import advanced
from pyspark_faultline.stream_reader import StreamReader
from tests.attack.test_hostile_runs import SOUND, encoded, line_of, run_with
from tests.audit.trace import dual_leader
from tests.pyspark_faultline.test_record_batches import rows_of

ALL = ReadAllAvailable()
Row = dict[str, Any]


def reader_of(path: Path | str, group: str = EVENTS, **options: str) -> StreamReader:
    source = FaultlineDataSource({"path": str(path), "group": group, **options})
    return source.streamReader(source.schema())


def read(reader: StreamReader, start: dict[str, int], end: dict[str, int]) -> list[Row]:
    batches = [batch for partition in reader.partitions(start, end) for batch in reader.read(partition)]
    return [row for batch in batches for row in batch.to_pylist()]


def size_of(offset: dict[str, int]) -> int:
    return sum(offset.values())


@given(
    st.lists(st.lists(st.binary(max_size=6).map(lambda line: line.replace(b"\n", b"")), max_size=6), max_size=4),
    st.integers(1, 30),
)
def test_batches_advance_over_whole_lines_to_the_end(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[bytes]], bytes_max: int
) -> None:
    folder = tmp_path_factory.mktemp("files")
    sizes, ends = {}, {}
    for number, lines in enumerate(files):
        path = folder / str(number)
        text = b"\n".join(lines)
        path.write_bytes(text)
        sizes[str(path)] = len(text)
        if b"\n" in text:
            ends[str(path)] = text.rfind(b"\n") + 1
    offset: dict[str, int] = {}
    while (end := advanced(offset, sizes, bytes_max)) != offset:
        assert all(end[path] >= read for path, read in offset.items())
        assert all(Path(path).read_bytes()[:read].endswith(b"\n") for path, read in end.items())
        assert size_of(end) - size_of(offset) <= bytes_max + 7
        offset = end
    assert offset == ends == advanced({}, sizes, None)


def test_small_batches_have_the_rows_of_one(tmp_path: Path) -> None:
    run = dual_leader().write(tmp_path)
    reader, batches = reader_of(run), 0
    start: dict[str, int] = {}
    rows: list[Row] = []
    assert reader.initialOffset() == start
    while (end := reader.latestOffset(start, ReadMaxBytes(2_000))) != start:
        rows += read(reader, start, end)
        start, batches = end, batches + 1
    assert batches > 5
    assert sorted(map(repr, rows)) == sorted(map(repr, rows_of(run)))
    assert read(reader, start, start) == []


def test_a_line_is_read_once_it_has_ended(tmp_path: Path) -> None:
    run = run_with(tmp_path / "r", b"")
    path, reader = run / "events" / "broker-0.1.jsonl", reader_of(run)
    first = reader.latestOffset({}, ALL)
    line = encoded(line_of("node_stopped", 5))
    with path.open("ab") as file:
        file.write(line[:40])
        file.flush()
        assert reader.latestOffset(first, ALL) == first == {str(path): len(encoded(*SOUND))}
        file.write(line[40:] + b"{")
    second = reader.latestOffset(first, ALL)
    assert [row["seq"] for row in read(reader, first, second)] == [5]
    assert read(reader_of(run, QUARANTINE), {}, second) == [], "what follows a line's end may become an event"


def test_a_batch_that_is_planned_again_has_the_same_rows(tmp_path: Path) -> None:
    run = run_with(tmp_path / "r", b"")
    end = reader_of(run).latestOffset({}, ALL)
    rows = read(reader_of(run), {}, end)
    with (run / "events" / "broker-0.1.jsonl").open("ab") as file:
        file.write(encoded(line_of("node_stopped", 5)))
    (run / "events" / "broker-0.2.jsonl").write_bytes(encoded(line_of("node_stopped", 1, incarnation=2)))
    assert read(reader_of(run), {}, end) == rows


def test_new_files_and_runs_are_found(tmp_path: Path) -> None:
    run_with(tmp_path / "a", b"")
    reader = reader_of(tmp_path)
    start = reader.latestOffset({}, ALL)
    (tmp_path / "a" / "events" / "broker-0.2.jsonl").write_bytes(encoded(line_of("node_stopped", 1, incarnation=2)))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "scenario.yaml").write_text("id: x\n")
    assert len(reader.latestOffset(start, ALL)) == 2, "a run that has begun may have no events as yet"
    shutil.copytree(tmp_path / "a" / "events", tmp_path / "b" / "events")
    end = reader.latestOffset(start, ALL)
    rows = read(reader, start, end)
    assert {(row["run"], row["incarnation"]) for row in rows} == {("a", 2), ("b", 1), ("b", 2)}
    assert read(reader_of(tmp_path, QUARANTINE), start, end) == []


def test_files_that_vanish_shrink_or_are_replaced_end_the_stream(tmp_path: Path) -> None:
    run = run_with(tmp_path / "r", b"")
    path, reader = run / "events" / "broker-0.1.jsonl", reader_of(run)
    start = reader.latestOffset({}, ALL)
    size_bytes = len(encoded(*SOUND))
    anew = "begin the stream anew, with another checkpoint"
    os.truncate(path, 10)
    with pytest.raises(AuditInputError) as error:
        reader.latestOffset(start, ALL)
    assert str(error.value) == f"{path}: became shorter than the {size_bytes} bytes that were read of it; {anew}"
    path.write_bytes(b"x" * 2 * size_bytes + b"\n")
    with pytest.raises(AuditInputError, match=rf"has no line's end at the byte {size_bytes}, up to .*; {anew}"):
        reader.latestOffset(start, ALL)
    path.unlink()
    for planning in (lambda: reader.latestOffset(start, ALL), lambda: reader.partitions({}, start)):
        with pytest.raises(AuditInputError) as error:
            planning()
        assert str(error.value) == f"{path}: vanished after {size_bytes} bytes of it were read; {anew}"


def test_a_run_whose_name_becomes_another_ends_the_stream(tmp_path: Path) -> None:
    run_with(tmp_path / "a" / "r", b"")
    reader = reader_of(f"{tmp_path}/*/r")
    start = reader.latestOffset({}, ALL)
    run_with(tmp_path / "b" / "r", b"")
    with pytest.raises(AuditInputError, match=r"/a/r: another run has its name r now"):
        reader.partitions(start, reader.latestOffset(start, ALL))


def test_an_unusable_run_is_refused(tmp_path: Path) -> None:
    for path, sentence in ((tmp_path / "x", "no such directory"), (tmp_path, "not a run, it has no folder events")):
        with pytest.raises(AuditInputError, match=sentence):
            reader_of(path).latestOffset({}, ALL)


def test_the_option_limits_a_batch_and_a_line_may_be_longer(tmp_path: Path) -> None:
    run = run_with(tmp_path / "r", b"x" * (LINE_BYTES_MAX + 1))
    reader = reader_of(run, QUARANTINE, maxBytesPerBatch="1k")
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxBytes(1024)
    end: dict[str, int] = {}
    while (next_end := reader.latestOffset(end, limit)) != end:
        end = next_end
    assert size_of(end) == len(encoded(*SOUND))
    with (run / "events" / "broker-0.1.jsonl").open("ab") as file:
        file.write(b"\n")
    last = reader.latestOffset(end, limit)
    [row] = read(reader, end, last)
    assert (row["reason"], row["offset"]) == (f"longer than {LINE_BYTES_MAX} bytes", len(encoded(*SOUND)))


def test_a_query_of_what_is_available_ends_there(tmp_path: Path) -> None:
    run = run_with(tmp_path / "r", b"")
    reader = reader_of(run)
    reader.prepareForTriggerAvailableNow()
    with (run / "events" / "broker-0.1.jsonl").open("ab") as file:
        file.write(encoded(line_of("node_stopped", 5)))
    end = reader.latestOffset({}, ALL)
    assert size_of(end) == len(encoded(*SOUND))
    assert reader.latestOffset(end, ALL) == end
