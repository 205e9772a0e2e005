"""Streams of the data source in Spark, and what a user sees: selections, paths, errors."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from pyspark_faultline import FaultlineDataSource
from pyspark_faultline.source_groups import QUARANTINE
from tests.audit.trace import dual_leader
from tests.pyspark_faultline.test_record_batches import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

@pytest.fixture(scope="module")
def source(spark: SparkSession) -> SparkSession:
    """The session, with the data source."""
    spark.dataSource.register(FaultlineDataSource)
    return spark


def counted(rows: DataFrame) -> Counter[str]:
    return Counter(repr(row.asDict()) for row in rows.collect())


def grow(whole: Path, growing: Path, share: float) -> None:
    """Write each file's beginning, which may end within a line."""
    (growing / "events").mkdir(parents=True, exist_ok=True)
    for path in (whole / "events").iterdir():
        text = path.read_bytes()
        with (growing / "events" / path.name).open("ab") as file:
            file.write(text[file.tell() : int(len(text) * share)])


@pytest.mark.parametrize("group", ["events", pytest.param(QUARANTINE, marks=pytest.mark.slow)])
def test_a_stream_of_a_growing_run_ends_with_its_rows(source: SparkSession, tmp_path: Path, group: str) -> None:
    """Also after a restart in the middle, and with batches that are smaller than what is new."""
    trace = dual_leader()
    for lines in trace.files.values():
        lines.insert(2, b"{}\n")
    whole = trace.write(tmp_path / "whole")
    growing, out = tmp_path / "growing" / whole.name, str(tmp_path / "out")
    grow(whole, growing, 0.3)
    stream = source.readStream.format("faultline").options(group=group, maxBytesPerBatch="8k").load(str(growing))
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.start(out)
    try:
        query.processAllAvailable()
        begun = source.read.parquet(out).count()
        assert 0 < begun < len(rows_of(whole, group))
        grow(whole, growing, 0.6)
        query.processAllAvailable()
        assert source.read.parquet(out).count() >= begun
    finally:
        query.stop()
    grow(whole, growing, 1)
    last = writer.trigger(availableNow=True).start(out)
    last.awaitTermination()
    expected = Counter(map(repr, rows_of(whole, group)))
    assert counted(source.read.parquet(out)) == expected


@pytest.mark.slow
def test_a_stream_of_a_file_that_became_shorter_fails_with_the_reason(source: SparkSession, tmp_path: Path) -> None:
    run = dual_leader().write(tmp_path)
    stream = source.readStream.format("faultline").option("group", "appends").load(str(run))
    query = stream.writeStream.format("memory").queryName("shorter").start()
    try:
        query.processAllAvailable()
        path = next((run / "events").glob("broker-0.1.jsonl"))
        os.truncate(path, 10)
        with pytest.raises(PySparkException, match=f"{path}: became shorter than the .* begin the stream anew"):
            query.processAllAvailable()
    finally:
        query.stop()


def test_a_query_of_selected_rows_has_those_of_a_filter(source: SparkSession, tmp_path: Path) -> None:
    for name in ("first", "second"):
        trace = dual_leader()
        trace.run = name
        trace.write(tmp_path)
    every = source.read.format("faultline").load(str(tmp_path))
    chosen = source.read.format("faultline").options(run="first", node="broker-0").load(str(tmp_path))
    assert counted(chosen) == counted(every.where("run = 'first' AND node = 'broker-0'"))


def test_errors_name_the_place_and_the_nearest(source: SparkSession, tmp_path: Path) -> None:
    run = dual_leader().write(tmp_path)
    with pytest.raises(PySparkException, match="group apends: unknown; nearest: appends"):
        source.read.format("faultline").load(str(run), group="apends").count()
    with pytest.raises(PySparkException, match=f"{run}x: no such directory; nearest: {run}"):
        source.read.format("faultline").load(f"{run}x").count()


def test_paths_may_be_a_list(source: SparkSession, tmp_path: Path) -> None:
    paths = [str(dual_leader().write(tmp_path / name)) for name in ("a", "b")]
    rows = source.read.format("faultline").load(paths).select("run").distinct().collect()
    assert {row["run"] for row in rows} == {"a/dual-leader", "b/dual-leader"}


def test_the_pages_statements_make_a_table_and_read_it(source: SparkSession, tmp_path: Path) -> None:
    run = dual_leader().write(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "spark-data-source.md").read_text(encoding="utf-8")
    statements = page.partition("```sql\n")[2].partition("```")[0]
    create, select = statements.replace("/data/runs/*", str(run)).strip().removesuffix(";").split(";\n")
    source.sql(create)
    try:
        rows = source.sql(select).collect()
    finally:
        source.catalog.dropTempView("roles")
    expected = [row for row in rows_of(run) if row["event"] == "role_changed"]
    assert [row["role"] for row in rows] == [row["role"] for row in sorted(expected, key=lambda row: row["at_ms"])]
