"""Spark's settings for one question: a small answer at once, or a big one at full speed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def tuned(spark: SparkSession, small: bool) -> Iterator[None]:
    """While it lasts the session is tuned for runs that are `small`, or big; its settings are restored afterwards."""
    cores = spark.sparkContext.defaultParallelism
    if small:
        # Interpreting some thousand rows is quicker than compiling classes for them; one partition needs no shuffle.
        wanted = {
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.join.preferSortMergeJoin": "false",
        }
    else:
        wanted = {
            "spark.sql.codegen.wholeStage": "true",
            "spark.sql.codegen.factoryMode": "FALLBACK",
            "spark.sql.adaptive.enabled": "true",
            "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "16m",  # hashed, not sorted; more might not fit
            "spark.sql.shuffle.partitions": str(2 * cores),
            "spark.sql.parquet.compression.codec": "uncompressed",  # read back once, from the page cache
            "parquet.enable.dictionary": "false",  # a hash table per column, for what is read once or twice
            "spark.sql.json.filterPushdown.enabled": "false",  # nothing is pushed; the empty filter costs at every line
            "spark.sql.files.minPartitionNum": str(2 * cores),  # no core is left alone with a long last task
            "spark.sql.maxConcurrentOutputFileWriters": "16",  # one per family: no sorting by it
        }
    before: dict[str, str | None] = {key: spark.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)
