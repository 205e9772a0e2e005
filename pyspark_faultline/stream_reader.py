"""Reader of growing runs as a stream: new lines of their files, and new files.

An offset counts whole lines alone, so a line is read when its end has been written, and the torn line of a process that
died is never read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from audit.blocks import Source
from audit.event_lines import run_keys
from audit.input import AuditInputError, RunDirectory, look_for_runs
from audit.line_ranges import Range, ranges_of
from emulator.regular_files import reason
from pyspark_faultline.range_partitions import files_of, packed_partitions, ranges_in
from pyspark_faultline.record_batches import record_batches
from pyspark_faultline.source_options import SourceOptions
from pyspark_faultline.stream_offsets import ANEW, Offset, advanced, refuse_lost

if TYPE_CHECKING:
    import pyarrow as pa


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads new lines of a group.

    `_target`: offset at which a query of `Trigger.AvailableNow` ends.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._target: Offset | None = None

    def initialOffset(self) -> Offset:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxBytes(self._options.max_bytes)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = _advanced({}, self._sizes(), None)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """The offset of the next micro-batch. Raises AuditInputError."""
        sizes = self._sizes()
        refuse_lost(start, sizes)
        if self._target is not None:
            sizes = {path: max(self._target.get(path, 0), start.get(path, 0)) for path in sizes}
        return _advanced(start, sizes, limit.max_bytes if isinstance(limit, ReadMaxBytes) else None)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Plan a micro-batch. Raises AuditInputError."""
        runs = [run for run in self._runs() if any(path in end for path in _paths(run))]
        refuse_lost(end, {path: size for run in runs for path, size in _paths(run).items()})
        ranges: list[Range] = []
        for run, key in zip(runs, _keys(runs, start), strict=True):
            called = run.called
            for file in files_of(run, self._options.group, self._options.selection):
                path = str(file.path)
                source = Source(called, file.path.name)
                ranges += ranges_of(file.path, source, key, start.get(path, 0), end.get(path, 0))
        return packed_partitions(ranges)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return record_batches(ranges_in(partition), self._options.group, self._options.selection)

    def _runs(self) -> list[RunDirectory]:
        """The runs with events; of those that have begun a moment ago there may be none as yet."""
        runs, unusable = look_for_runs(self._options.given)
        for one in unusable:
            if not one.begun:
                raise AuditInputError(one.why)
        return runs

    def _sizes(self) -> dict[str, int]:
        """{path of a needed file: its size}."""
        group, selection, runs = self._options.group, self._options.selection, self._runs()
        return {
            str(file.path): file.size_bytes
            for run, key in zip(runs, run_keys(runs), strict=True)
            if selection.has_run(key)
            for file in files_of(run, group, selection)
        }


def _advanced(start: Offset, sizes: dict[str, int], bytes_max: int | None) -> Offset:
    try:
        return advanced(start, sizes, bytes_max)
    except OSError as error:
        raise AuditInputError(f"{error.filename}: cannot be read any more: {reason(error)}; {ANEW}") from error


def _paths(run: RunDirectory) -> dict[str, int]:
    return {str(file.path): file.size_bytes for file in run.files}


def _keys(runs: Sequence[RunDirectory], start: Offset) -> list[str]:
    """Names of the runs; those that rows already have must stay. Raises AuditInputError."""
    keys = dict(zip((run.path for run in runs), run_keys(runs), strict=True))
    before = [run for run in runs if any(path in start for path in _paths(run))]
    for run, key in zip(before, run_keys(before), strict=True):
        if keys[run.path] != key:
            raise AuditInputError(f"{run.path}: another run has its name {key} now; read each as its own stream")
    return [keys[run.path] for run in runs]
