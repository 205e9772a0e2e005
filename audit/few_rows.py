"""Where the rows of a big run's table lie when they are few: in the plan, in one partition, or where they were made.

Most tables have no row in most runs. Spark plans what is asked of no rows away, if it knows of them when it plans, and
with them the joins, the tasks and the scans of millions of rows that they would have been compared with. Rows that lie
in the plan are also filtered while it is made, and given to every task without a job of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW_MAX = 100_000
"""So many rows of a big run lie in one partition, rare events or a table's: what is asked of them alone moves none of
them, and no code is made for it."""

IN_THE_PLAN_MAX: Final = 1_000
"""More are looked at quicker by tasks."""


def number_of(kept: DataFrame) -> int:
    """How many rows there are, which are made now. To ask Spark for their number is to plan a query more."""
    return int(kept._jdf.queryExecution().toRdd().count())


def are_few(number: int) -> bool:
    return number <= FEW_MAX


def placed(kept: DataFrame, number: int) -> DataFrame:
    """The same rows; `number` of them."""
    if number == 0:
        return kept.limit(0)
    if number <= min(IN_THE_PLAN_MAX, FEW_MAX):
        spark = kept.sparkSession
        rows = spark._jsparkSession.createDataFrame(kept._jdf.collectAsList(), kept._jdf.schema())
        return type(kept)(rows, spark)
    return kept.coalesce(1) if are_few(number) else kept
