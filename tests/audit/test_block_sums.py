"""What Arrow tells of blocks as a whole: the same that Spark tells of their lines."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from audit.input import read_directory
from audit.kept_lines import Kept, lines_in_files
from audit.stretches import DISORDERED, OF_BLOCKS
from audit.stretches import OF_LEFT as STRETCHES
from audit.tallies import OF_LEFT as TALLIES
from tests.audit.trace import Trace, dual_leader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE = ("broker-0", 1, False)

pytestmark = pytest.mark.spark


def in_order() -> Trace:
    return dual_leader()


def twice() -> Trace:
    """A line comes twice."""
    trace = dual_leader()
    trace.files[FILE].insert(9, trace.files[FILE][5])
    return trace


def in_any_order() -> Trace:
    """Numbers say what is first, wherever a line stands."""
    trace = dual_leader()
    random.Random(20_261_128).shuffle(trace.files[FILE])
    return trace


def with_a_clock_that_went_back() -> Trace:
    """By a millisecond, somewhere."""
    trace = dual_leader()
    lines = trace.files[FILE]
    times = [line.split(b'"at_ms":')[1].split(b",")[0] for line in lines]
    number = next(number for number in range(5, len(lines)) if times[number] != times[number - 1])
    back = b"%g" % (float(times[number - 1]) - 1)
    lines[number] = lines[number].replace(b'"at_ms":' + times[number], b'"at_ms":' + back)
    return trace


def kept_of(spark: SparkSession, traces: list[Trace], folder: Path) -> Kept:
    runs = [read_directory(trace.write(folder / str(number))) for number, trace in enumerate(traces)]
    return lines_in_files(spark, runs, str(folder / "lines"))


def added_up(tallies: DataFrame) -> Counter[tuple[object, ...]]:
    """What tallies say when those of one kind are put together."""
    tallies.createOrReplaceTempView("tallies")
    rows = tallies.sparkSession.sql("""
SELECT run, node, incarnation, event, problem, kind, outcome, acks, led, sum(events), min(first_seq), max(last_seq),
  min(first_ms), max(last_ms), sum(seq_sum), sum(seq_squares)
FROM tallies GROUP BY run, node, incarnation, event, problem, kind, outcome, acks, led""")
    return Counter(map(tuple, rows.collect()))


@pytest.mark.parametrize("bytes_a_block", [700, 4 << 20])
def test_lines_are_counted_by_kind_as_spark_counts_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_a_block: int
) -> None:
    monkeypatch.setattr("audit.kept_lines.BLOCK_BYTES", bytes_a_block)
    kept = kept_of(spark, [in_order(), twice(), in_any_order()], tmp_path)
    assert kept.sums is not None and kept.left is None
    kept.lines.createOrReplaceTempView("left_lines")
    told = added_up(kept.sums[0])
    assert told == added_up(spark.sql(TALLIES)) and len(told) > 30


@pytest.mark.parametrize("bytes_a_block", [700, 4 << 20])
@pytest.mark.parametrize(
    ("trace", "in_doubt"),
    [(in_order, False), (twice, True), (in_any_order, False), (with_a_clock_that_went_back, True)],
)
def test_a_life_is_in_doubt_unless_its_blocks_are_in_order_and_follow_one_another(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trace: Callable[[], Trace],
    in_doubt: bool,
    bytes_a_block: int,
) -> None:
    monkeypatch.setattr("audit.kept_lines.BLOCK_BYTES", bytes_a_block)
    kept = kept_of(spark, [trace(), in_order()], tmp_path)
    assert kept.sums is not None
    kept.sums[1].createOrReplaceTempView("blocks")
    spark.sql(OF_BLOCKS).createOrReplaceTempView("stretches")
    shuffled_in_parts = trace is in_any_order and bytes_a_block == 700
    assert spark.sql(DISORDERED).count() == (in_doubt or shuffled_in_parts)
    # Of lines that Spark has read a life is one stretch: whose clock went back is in doubt, and nobody else.
    kept.lines.createOrReplaceTempView("left_lines")
    spark.sql(STRETCHES).createOrReplaceTempView("stretches")
    assert spark.sql(DISORDERED).count() == (trace is with_a_clock_that_went_back)
