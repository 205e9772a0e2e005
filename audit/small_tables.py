"""Places small tables of a big run: in the plan, in one partition, or where they were made.

Most tables have no row in most runs. If Spark knows that when it plans, it removes queries of empty tables, with their
joins, tasks and scans of millions of rows. Rows in the plan are also filtered during planning, and reach every task
without a job of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW_MAX = 100_000
"""Maximum of rows of a big run in one partition, of rare events or of a table.

Queries of such tables alone move no rows, and no code is generated for them.
"""

IN_THE_PLAN_MAX: Final = 1_000
"""Maximum of rows in the plan; tasks read more rows faster."""


def number_of(kept: DataFrame) -> int:
    """Count of the rows, which are made now."""
    return kept.count()


def are_few(number: int) -> bool:
    return number <= FEW_MAX


def placed(kept: DataFrame, number: int) -> DataFrame:
    """The same rows, placed by their `number`."""
    if number == 0:
        return kept.limit(0)
    if number <= min(IN_THE_PLAN_MAX, FEW_MAX):
        # As one batch: Spark 4.3.0 loses all rows behind an empty one.
        return kept.sparkSession.createDataFrame(kept.toArrow().combine_chunks(), kept.schema)
    return kept.coalesce(1) if are_few(number) else kept
