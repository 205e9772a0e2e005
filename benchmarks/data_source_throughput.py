"""Speed of the Spark data source, beside Spark's own reader of JSON with a schema.

    python -m benchmarks.data_source_throughput [EVENTS]

Both read the appends of one run with all columns, and forget the rows. The times are those of Java's processor and of
Spark's workers, so that other work of the machine counts little; on one idle core the clock shows the same. Spark's
reader has the schema of these columns and checks nothing else, neither other lines nor other fields.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from audit.event_groups import TABLES
from audit.event_lines import spark_schema
from audit.spark_keeper import Launch
from audit.warm_spark import own_session, server_of
from benchmarks.figure_records import Figure, show, write
from benchmarks.synthetic_run import write_run
from emulator.exit_codes import HELD
from emulator.toplevel_errors import ended
from pyspark_faultline import FaultlineDataSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENTS = 300_000
GROUP = "appends"
TURNS = 4
"""Readings by each, in turns; the first of each warms up, and the fastest other counts."""


def main(events: int = EVENTS) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        run = Path(name, "run")
        write_run(run, events)
        size_mb = sum(path.stat().st_size for path in (run / "events").iterdir()) / 1e6
        source_s, json_s = _read_in_turns(run, Path(name))
    event, _ = TABLES[GROUP]
    figures = [
        Figure(
            line=f"group `{GROUP}` of {size_mb:.0f} MB by the Spark data source, of a core's time",
            value=size_mb / source_s, unit="MB/s", target=40, higher_is_better=True,
            bound="Arrow parses and checks every line at about 110 MB/s; the rest is Spark's tasks",
        ),
        Figure(
            line=f"the same time, relative to spark.read.json of the columns of `{event}`",
            value=source_s / json_s, unit="x", target=1.5, stretch=1.0,
            bound="every field of every line is checked, and rows pass from Python to Java",
        ),
    ]  # fmt: skip
    write("data_source_throughput", figures, {"size_mb": size_mb, "source_s": source_s, "json_s": json_s})
    return figures


def _read_in_turns(run: Path, folder: Path) -> tuple[float, float]:
    """Least processor times of the data source and of Spark's reader."""
    event, columns = TABLES[GROUP]
    with own_session(folder / "spark", Launch(master="local[1]", idle_s=0.0, at_once=True)) as spark:
        server = server_of(folder / "spark")
        assert server is not None
        spark.dataSource.register(FaultlineDataSource)

        def by_source() -> DataFrame:
            return spark.read.format("faultline").option("group", GROUP).load(str(run))

        def by_json() -> DataFrame:
            lines = spark.read.schema(spark_schema(dict.fromkeys(("event", *columns))))
            return lines.json(str(run / "events")).where(f"event = '{event}'").select(*columns)

        assert by_source().count() == by_json().count() > 0
        took: dict[Callable[[], DataFrame], list[float]] = {by_source: [], by_json: []}
        for _ in range(TURNS):
            for reading, times in took.items():
                began_s = _processor_s(server.java_pid)
                reading().write.format("noop").mode("overwrite").save()
                times.append(_processor_s(server.java_pid) - began_s)
    return min(took[by_source][1:]), min(took[by_json][1:])


def _processor_s(java: int) -> float:
    """Processor time of Java and of its workers, also of ended ones."""
    parent = psutil.Process(java)
    return sum(sum(process.cpu_times()[:4]) for process in (parent, *parent.children(recursive=True)))


def alone() -> int:
    """`python -m benchmarks.data_source_throughput [EVENTS]`."""
    show(main(*map(int, sys.argv[1:2])))
    return HELD


if __name__ == "__main__":
    sys.exit(ended("benchmarks.data_source_throughput", alone))
