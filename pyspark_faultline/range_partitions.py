"""Partitions of a table: ranges of files of at most 4 MiB together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql.datasource import InputPartition

from audit.blocks import Source
from audit.event_lines import run_keys
from audit.input import EventFile, RunDirectory
from audit.line_ranges import Range, packed, ranges_of
from pyspark_faultline.row_selection import Selection
from pyspark_faultline.source_groups import Group


class RangePartition(InputPartition):
    """Ranges that one task reads."""

    def __init__(self, ranges: Sequence[Range]) -> None:
        super().__init__(tuple(ranges))

    @property
    def ranges(self) -> tuple[Range, ...]:
        ranges: tuple[Range, ...] = self.value
        return ranges


def partitions_of(runs: Sequence[RunDirectory], group: Group, selection: Selection) -> list[InputPartition]:
    """Partitions of the files that the group and the selection need, in the files' order."""
    ranges: list[Range] = []
    for run, key in zip(runs, run_keys(runs), strict=True):
        if selection.has_run(key):
            called = run.called
            for file in files_of(run, group, selection):
                ranges += ranges_of(file.path, Source(called, file.path.name), key, 0, file.size_bytes)
    return packed_partitions(ranges)


def files_of(run: RunDirectory, group: Group, selection: Selection) -> list[EventFile]:
    """The run's files that the group and the selection need."""
    return [file for file in run.files if (group.wire or not file.wire) and selection.has_file(file.path.name)]


def packed_partitions(ranges: Iterable[Range]) -> list[InputPartition]:
    """Consecutive ranges together, as many as make a block."""
    waiting = iter(ranges)
    partitions: list[InputPartition] = []
    while together := packed(waiting):
        partitions.append(RangePartition(together))
    return partitions


def ranges_in(partition: InputPartition) -> tuple[Range, ...]:
    """The ranges of a partition; none of the one that Spark makes of a table without any."""
    return partition.ranges if isinstance(partition, RangePartition) else ()
