"""Arrow's summary of whole blocks equals Spark's result of their lines."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from audit.event_counts import OF_LEFT as TALLIES
from audit.input import read_directory
from audit.line_store import Kept, lines_in_files
from audit.monotonic_runs import CLOCK, DISORDERED, LEADER, OF_BLOCKS, PRODUCER
from audit.monotonic_runs import OF_LEFT as STRETCHES
from tests.audit.trace import Trace, dual_leader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE = ("broker-0", 1, False)

pytestmark = pytest.mark.spark


def in_order() -> Trace:
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2))
    for offset in range(12):
        trace.produce(f"value {offset}", at=offset)
    return trace


def twice() -> Trace:
    """A line comes twice."""
    trace = in_order()
    trace.files[FILE].insert(9, trace.files[FILE][5])
    return trace


def in_any_order() -> Trace:
    """Numbers say what is first, wherever a line stands."""
    trace = in_order()
    random.Random(20_261_128).shuffle(trace.files[FILE])
    return trace


def with_a_clock_that_went_back() -> Trace:
    """By a millisecond, somewhere."""
    trace = in_order()
    lines = trace.files[FILE]
    times = [line.split(b'"at_ms":')[1].split(b",")[0] for line in lines]
    number = next(number for number in range(5, len(lines)) if times[number] != times[number - 1])
    back = b"%g" % (float(times[number - 1]) - 1)
    lines[number] = lines[number].replace(b'"at_ms":' + times[number], b'"at_ms":' + back)
    return trace


def with_a_high_watermark_that_fell() -> Trace:
    return in_order().watermark(0, 11, previous=12, epoch=0)


def with_produces_that_overtook_one_another() -> Trace:
    return in_order().produce("overtaken", at=13, followers=()).produce("overtaking", at=12, followers=())


def kept_of(spark: SparkSession, traces: list[Trace], folder: Path) -> Kept:
    runs = [read_directory(trace.write(folder / str(number))) for number, trace in enumerate(traces)]
    return lines_in_files(spark, runs, str(folder / "lines"))


def added_up(tallies: DataFrame) -> Counter[tuple[object, ...]]:
    """The sum of the tallies of each kind."""
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
    monkeypatch.setattr("audit.line_ranges.BLOCK_BYTES", bytes_a_block)
    kept = kept_of(spark, [dual_leader(), twice(), in_any_order()], tmp_path)
    assert kept.sums is not None and kept.left is None
    kept.lines.createOrReplaceTempView("left_lines")
    reported = added_up(kept.sums[0])
    assert reported == added_up(spark.sql(TALLIES)) and len(reported) > 30


FELL = {
    "clock": (CLOCK, "lines", "incarnation, seq", "at_ms", "true"),
    "producer": (PRODUCER, "operations", "incarnation, number", "offset", "kind = 'produce' AND outcome = 'ok'"),
    "leader": (LEADER, "watermarks", "incarnation, seq", "high_watermark", "leading"),
}
"""{kind of sequence: its number, where it is, its order, its values, which}"""


def really_disordered(spark: SparkSession) -> set[int]:
    """By a look at every line of `left_lines`."""
    number = "CAST(substring_index(operation, ':', -1) AS BIGINT)"
    found: set[int] = set()
    for sequence, family, order, value, which in FELL.values():
        of_family = "true" if family == "lines" else f"family = '{family}'"
        rows = spark.sql(f"""
SELECT DISTINCT sequence FROM (
  SELECT sequence, value, max(value) OVER (PARTITION BY sequence ORDER BY {order}
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM (
    SELECT {sequence} AS sequence, incarnation, seq, {number} AS number, {value} AS value
    FROM left_lines WHERE {of_family} AND {which}
  )
)
WHERE value < reached""")
        found |= {row["sequence"] for row in rows.collect()}
    return found


@pytest.mark.parametrize("bytes_a_block", [700, 4 << 20])
@pytest.mark.parametrize(
    ("trace", "real", "most"),
    [
        (in_order, 0, 0),
        (twice, 0, 1),
        (in_any_order, 0, 3),
        (with_a_clock_that_went_back, 1, 1),
        (with_a_high_watermark_that_fell, 1, 1),
        (with_produces_that_overtook_one_another, 1, 1),
    ],
)
def test_what_is_not_in_order_is_found_and_little_else(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trace: Callable[[], Trace],
    real: int,
    most: int,
    bytes_a_block: int,
) -> None:
    """`real`: sequences that fall.

    `most`: sequences in doubt, with shuffled blocks or duplicate lines.
    """
    monkeypatch.setattr("audit.line_ranges.BLOCK_BYTES", bytes_a_block)
    kept = kept_of(spark, [trace(), in_order()], tmp_path)
    assert kept.sums is not None and kept.left is None
    kept.lines.createOrReplaceTempView("left_lines")
    fell = really_disordered(spark)
    assert len(fell) == real
    kept.sums[1].createOrReplaceTempView("blocks")
    spark.sql(OF_BLOCKS).createOrReplaceTempView("stretches")
    reported = {row["sequence"] for row in spark.sql(DISORDERED).collect()}
    assert fell <= reported and len(reported) <= most
    # Of lines that Spark has read a life is one stretch, and of the others anything may be.
    spark.sql(STRETCHES).createOrReplaceTempView("stretches")
    assert fell <= {row["sequence"] for row in spark.sql(DISORDERED).collect()}
