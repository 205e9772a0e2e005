"""Readers of a table as it is at the time of the query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from audit.input import find_runs
from pyspark_faultline.pushed_filters import Pushed, pushed
from pyspark_faultline.range_partitions import partitions_of, ranges_in
from pyspark_faultline.record_batches import record_batches
from pyspark_faultline.source_options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """Reads all runs' lines of a group."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._pushed = Pushed()

    def partitions(self) -> list[InputPartition]:
        """Find the runs and plan. Raises AuditInputError: one of them is unusable."""
        return partitions_of(find_runs(self._options.given), self._options.group, self._pushed)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return record_batches(ranges_in(partition), self._options.group, self._pushed.event)


class FilteringReader(BatchReader):
    """The same, with filters that leave out files.

    A class of its own: Spark refuses a reader that takes filters while its setting for that is off, as it is by
    default.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take what helps; Spark evaluates all of them again."""
        self._pushed = pushed(filters)
        return filters
