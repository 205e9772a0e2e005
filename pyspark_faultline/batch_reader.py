"""Reader of a table as it is at the time of the query."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from audit.event_lines import run_keys
from audit.input import AuditInputError, RunDirectory, find_runs
from pyspark_faultline.range_partitions import partitions_of, ranges_in
from pyspark_faultline.record_batches import record_batches
from pyspark_faultline.row_selection import Selection
from pyspark_faultline.source_options import RUN, SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """Reads the selected rows of a group."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Find the runs and plan. Raises AuditInputError: one of them is unusable."""
        runs, selection = find_runs(self._options.given), self._options.selection
        _refuse_unknown(runs, selection)
        return partitions_of(runs, self._options.group, selection)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return record_batches(ranges_in(partition), self._options.group, self._options.selection)


def _refuse_unknown(runs: Sequence[RunDirectory], selection: Selection) -> None:
    """Refuse a selected run that is not there. Raises AuditInputError."""
    keys = run_keys(runs)
    for name in sorted((selection.run or frozenset()) - {*keys}):
        [near] = difflib.get_close_matches(name, keys, n=1, cutoff=0)
        raise AuditInputError(f"option {RUN}: {name}: no such run was loaded; nearest: {near}")
