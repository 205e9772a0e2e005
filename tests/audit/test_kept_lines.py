"""Lines of big runs in files: the same rows from either parser."""

from __future__ import annotations

import errno
import random
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from audit import line_ranges, line_store
from audit.blocks import RARE_COLUMN, Refused, Source, tables_of
from audit.event_groups import COLUMNS, FREQUENT, RARE
from audit.event_lines import PROBLEM, read_lines, run_keys, spark_schema
from audit.input import RunDirectory, read_directory
from audit.line_ranges import pieces
from audit.line_store import lines_in_files, with_family
from audit.spark_session import SparkFailed
from protocol import events as e
from tests.audit.strange_lines import NASTY, changed
from tests.audit.trace import Trace, dual_leader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE = ("broker-0", 1, False)

pytestmark = pytest.mark.spark

def counted(lines: DataFrame, *, in_files: bool) -> Counter[tuple[str, ...]]:
    """All rows, with what is in the column of those that are rare."""
    from pyspark.sql import functions as F

    if in_files:
        lines = lines.withColumn(RARE_COLUMN, F.from_json(RARE_COLUMN, spark_schema(RARE)))
        lines = lines.select("family", PROBLEM, *FREQUENT, *(f"{RARE_COLUMN}.{name}" for name in RARE))
    rare = [F.when(F.col("family") == "rest", F.col(name)) for name in RARE]
    rows = lines.select("family", PROBLEM, *FREQUENT, *rare).collect()
    return Counter(tuple(map(repr, row)) for row in rows)


def left_to_spark(path: Path) -> int:
    files = (path / "left").rglob("*.jsonl")
    return sum(bool(line.strip()) for file in files for line in file.read_bytes().splitlines())


def both_alike(spark: SparkSession, runs: list[RunDirectory], path: Path) -> Counter[tuple[str, ...]]:
    usual = counted(with_family(read_lines(spark, runs, COLUMNS)), in_files=False)
    here = counted(lines_in_files(spark, runs, str(path)).lines, in_files=True)
    assert here - usual == usual - here == Counter()
    return here


CHANGED = 1_000
"""Lines that are changed at random; no other good line is left to Spark."""


def strange() -> Trace:
    """One file of changed lines mixed with good ones, and one with a line of every strange kind."""
    drawn = random.Random(20_261_128)
    trace = dual_leader()
    good = [line.rstrip(b"\n") for line in trace.files[FILE]]
    trace.files[FILE].extend(changed(drawn.choice(good), drawn) + b"\n" for _ in range(CHANGED))
    trace.files["broker-1", 1, False].extend(line + b"\n" for line in NASTY)
    return trace


def with_a_beginning() -> Trace:
    trace = dual_leader()
    trace.files[FILE][0] = b"\xef\xbb\xbf" + trace.files[FILE][0]
    return trace


def torn() -> Trace:
    trace = dual_leader()
    trace.files[FILE][-1] = trace.files[FILE][-1][:-9]
    return trace


def without_an_end() -> Trace:
    trace = dual_leader()
    trace.files[FILE][-1] = trace.files[FILE][-1].rstrip(b"\n")
    return trace


def with_carriage_returns() -> Trace:
    trace = dual_leader()
    trace.files[FILE] = [
        line.replace(b"\n", end) for line, end in zip(trace.files[FILE], cycle([b"\r\n", b"\r"]), strict=False)
    ]
    return trace


def empty() -> Trace:
    trace = Trace()
    trace.files[FILE] = []
    return trace


@pytest.mark.parametrize(
    ("trace", "left"),
    [
        pytest.param(strange, CHANGED + len(NASTY), id="strange"),
        *(
            pytest.param(trace, left, marks=pytest.mark.slow)
            for trace, left in [(dual_leader, 0), (without_an_end, 0), (with_a_beginning, 0), (torn, 1), (empty, 0)]
        ),
    ],
)
def test_the_rows_are_those_that_spark_reads(
    spark: SparkSession, tmp_path: Path, trace: Callable[[], Trace], left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_ranges, "PIECE_BYTES", 1)  # what is left is left line by line
    monkeypatch.setattr(line_ranges, "BLOCK_BYTES", 4_000)
    rows = both_alike(spark, [read_directory(trace().write(tmp_path))], tmp_path / "lines")
    assert bool(rows) == (trace is not empty)
    assert left / 2 <= left_to_spark(tmp_path / "lines") <= left


@pytest.mark.slow
def test_lines_that_end_otherwise_are_lines(spark: SparkSession, tmp_path: Path) -> None:
    trace = with_carriage_returns()
    count = sum(len(lines) for lines in trace.files.values())
    assert both_alike(spark, [read_directory(trace.write(tmp_path))], tmp_path / "lines").total() == count


@pytest.mark.parametrize("bytes_a_block", [1, pytest.param(1_000, marks=pytest.mark.slow)])
def test_a_line_is_of_the_block_that_it_begins_in(
    spark: SparkSession, tmp_path: Path, bytes_a_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_ranges, "BLOCK_BYTES", bytes_a_block)
    monkeypatch.setattr(line_store, "ROWS_A_GROUP", 3)
    both_alike(spark, [read_directory(dual_leader().write(tmp_path))], tmp_path / "lines")
    assert left_to_spark(tmp_path / "lines") == 0


def test_runs_are_kept_apart(spark: SparkSession, tmp_path: Path) -> None:
    """Also one whose directory was renamed, and one with lines that are none."""
    paths = [trace().write(tmp_path / name) for name, trace in (("a + b", dual_leader), ("c", strange), ("d", torn))]
    paths.append(dual_leader().write(tmp_path / "e").rename(tmp_path / "e" / "renamed"))
    runs = [read_directory(path) for path in paths]
    rows = both_alike(spark, runs, tmp_path / "lines")
    reported = Counter(row[2 + FREQUENT.index("run")] for row in rows.elements())
    assert {*reported} == {repr(key) for key in run_keys(runs)}
    assert 0 < left_to_spark(tmp_path / "lines") < rows.total()


@pytest.mark.slow
def test_what_was_there_before_is_there_no_more(spark: SparkSession, tmp_path: Path) -> None:
    torn_run = read_directory(torn().write(tmp_path / "a"))
    for _ in range(2):
        both_alike(spark, [torn_run], tmp_path / "lines")
    both_alike(spark, [read_directory(dual_leader().write(tmp_path / "b"))], tmp_path / "lines")


@pytest.mark.slow
def test_a_line_that_is_too_long_leaves_all_of_it_to_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is too long leaves all of it to Spark, whose reader passes over it."""
    for module in ("audit.input", "audit.event_lines"):
        monkeypatch.setattr(f"{module}.LINE_BYTES_MAX", 2_000)
    monkeypatch.setattr("audit.input.WINDOW_BYTES", 1_000)
    monkeypatch.setattr("audit.input.PROBE_BYTES", 100)
    trace = dual_leader()
    trace.emit("broker-0", e.ScenarioStep(1, "x" * 3_000))
    run = read_directory(trace.write(tmp_path))
    assert sum(file.too_long for file in run.files) == 1
    rows = both_alike(spark, [run], tmp_path / "lines")
    assert rows.total() == sum(map(len, trace.files.values())) - 1
    assert not (tmp_path / "lines" / "left").exists()


def test_a_full_disk_is_reported(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    run = read_directory(dual_leader().write(tmp_path))
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(SparkFailed, match=r"could not be kept to be judged: .*No space left"):
        lines_in_files(spark, [run], str(tmp_path / "lines"))


@pytest.mark.parametrize("size_bytes", [1, 5, 6, 7, 1000])
def test_pieces_are_whole_lines(size_bytes: int) -> None:
    lines = b"".join(b"%d\n" % 10**n for n in range(12))
    cut = [*pieces(lines, size_bytes)]
    assert b"".join(cut) == lines and all(piece.endswith(b"\n") for piece in cut)
    assert all(len(piece) >= size_bytes for piece in cut[:-1])
    assert len(cut) == 12 or size_bytes > 1


def test_a_block_with_a_line_that_is_none_loses_no_other(tmp_path: Path) -> None:
    trace = torn()
    run = read_directory(trace.write(tmp_path))
    line_store._Compacting([run], tmp_path / "lines", tmp_path / "left").run()
    kept = sum(pq.read_metadata(file).num_rows for file in (tmp_path / "lines" / "kept").glob("*/*/*"))
    assert kept == sum(map(len, trace.files.values())) - 1
    with pytest.raises(Refused):
        tables_of([(b"".join(trace.files[FILE]), Source("trace", "broker-0.1.jsonl"))])
