"""Spark's settings for one query: a small result at once, or a big one at full speed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MANY_FILES = {
    # A run has a dozen files and a thousand runs have thousands. By default each counts as 4 MiB when they are shared
    # out, so that they become a hundred tasks that write a thousand files; and more than 32 are listed by a job with a
    # task for each.
    "spark.sql.files.openCostInBytes": "16k",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
}


PROBE_ROWS: Final = 1 << 16
"""Rows enough that every core gets some."""

PARTITION_BYTES = 128 << 20
"""Bytes of lines per partition of moved rows: each task has its rows in memory."""

LEFT_OUT = tuple(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}"
    for rule in ("PruneFilters", "InferFiltersFromConstraints", "RemoveRedundantAliases", "FoldablePropagation")
)
"""Optimizer rules with little effect here, and a quarter of the time (docs/audit-cost.md)."""


SMALL: Final = {
    # Interpreting some thousand rows is quicker than compiling classes for them; one partition needs no shuffle.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.join.preferSortMergeJoin": "false",
    # Tables in one partition are joined as they are, and hashed, only where they are known to be small.
    "spark.sql.defaultSizeInBytes": "1",
    "spark.sql.maxSinglePartitionBytes": str(2**63 - 1),
    # A view has its plan; otherwise each query that reads it would parse and analyse its text.
    "spark.sql.legacy.storeAnalyzedPlanForView": "true",
    # What these find out saves reading, of which there is little here.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.excludedRules": ",".join(LEFT_OUT),
    **MANY_FILES,
}
"""Settings for small runs; a session that begins with them needs no change for one."""


@contextmanager
def tuned(spark: SparkSession, small: bool, size_bytes: int = 0) -> Iterator[None]:
    """Tune the session for `small` or big runs of `size_bytes`; restores its settings."""
    if small:
        wanted = SMALL
    else:
        cores = cores_of(spark)
        wanted = MANY_FILES | {
            "spark.sql.codegen.wholeStage": "true",
            "spark.sql.codegen.factoryMode": "FALLBACK",
            # Java never compiles a longer method, so what Spark makes of a whole stage would be interpreted.
            "spark.sql.codegen.hugeMethodLimit": "8000",
            # Both look at every expression of every plan, anew whenever it is adapted, and find little in ours.
            "spark.sql.subexpressionElimination.enabled": "false",
            "spark.sql.constraintPropagation.enabled": "false",
            "spark.sql.adaptive.enabled": "true",
            # Hashed, not sorted; more might not fit. Spark looks whether it would join that much at a time.
            "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "16m",
            "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
            "spark.sql.shuffle.partitions": str(max(2 * cores, size_bytes // PARTITION_BYTES)),
            "spark.sql.parquet.compression.codec": "uncompressed",  # read back once, from the page cache
            "parquet.enable.dictionary": "false",  # a hash table per column, for what is read once or twice
            "spark.sql.json.filterPushdown.enabled": "false",  # nothing is pushed; the empty filter costs at every line
            "spark.sql.files.minPartitionNum": str(2 * cores),  # no core is left alone with a long last task
            "spark.sql.maxConcurrentOutputFileWriters": "16",  # one per family: no sorting by it
        }
    before = spark.conf.getAll
    changed = {key: value for key, value in wanted.items() if before.get(key) != value}
    for key, value in changed.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in changed:
            if key in before:
                spark.conf.set(key, before[key])
            else:
                spark.conf.unset(key)


def cores_of(spark: SparkSession) -> int:
    """Count of concurrent tasks: Spark gives so many partitions to rows that it makes itself."""
    from pyspark.sql import functions as F

    return spark.range(PROBE_ROWS).select(F.spark_partition_id()).distinct().count()
