"""Columnar cache of big runs' lines: Parquet files partitioned by event group.

Arrow parses a line in a sixth of the time that Spark takes (docs/audit-cost.md). Blocks whose lines are all events
(`audit.blocks`) go to Arrow, on all cores of this machine, with the sums over each block (`audit.block_sums`). The
rest, such as the piece with a torn line, goes to Spark. With executors elsewhere, which have the cores, all of it does.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import functions as F
from pyspark.sql import types as T

from audit.block_sums import Sums, sums_of
from audit.blocks import RARE_COLUMN, Refused, Source, tables_of
from audit.event_groups import COLUMNS, FAMILY_OF, FREQUENT, RARE, RARE_ONES, WITH_CAUSE
from audit.event_lines import PROBLEM, read_lines, run_keys, spark_schema
from audit.input import RunDirectory, escaped
from audit.java import is_local
from audit.line_ranges import Block, Range, lines_of, packed, ranges_of, refused
from audit.spark_session import SparkFailed
from emulator.run_layout import EVENT_SUFFIX, EVENTS_FOLDER

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ROWS_A_GROUP: Final = 1 << 16
"""Rows of a Parquet row group: what one thread holds of a family before it writes."""
THREADS_MAX: Final = 16
ARROW, SPARK = "arrow", "spark"
LOW: Final = ("node", "topic", "topic_id", "event", "kind", "outcome", "client", "run")
"""Columns of few values, which are dictionary-encoded."""


class Kept(NamedTuple):
    """The cache.

    `path`: its directory. `lines`: every line, with its `family` and, if it is broken, its PROBLEM. `families`: those
    present. `sums`: `tallies` and `stretches` of Arrow's lines, if any (`audit.block_sums`). `left`: Spark's lines, if
    any.
    """

    path: str
    lines: DataFrame
    families: frozenset[str]
    sums: tuple[DataFrame, DataFrame] | None
    left: DataFrame | None


def lines_in_files(spark: SparkSession, runs: Sequence[RunDirectory], path: str) -> Kept:
    """Write the lines of `runs` but the wire level's to Parquet files, by reader and `family`.

    Columns are PROBLEM, FREQUENT, and RARE_COLUMN, JSON with the columns RARE of rare events. The name of a single run,
    equal in all rows, is not written.

    Raises: SparkFailed: the disk is full.
    """
    shutil.rmtree(path, ignore_errors=True)
    lines: DataFrame | None
    if is_local(str(spark.conf.get("spark.master"))) and not any(file.too_long for run in runs for file in run.files):
        left = Path(path, "left")
        try:
            _Compacting(runs, Path(path), left).run()
        except OSError as error:
            raise SparkFailed(f"The events could not be kept to be judged: {error}") from error
        paths = [escaped(str(path)) for path in left.rglob(f"*{EVENT_SUFFIX}")]
        lines = read_lines(spark, runs, COLUMNS, instead=paths) if paths else None
    else:
        lines = read_lines(spark, runs, COLUMNS)
    names = written_columns(FREQUENT, runs)
    kept = f"{path}/kept"
    if lines is not None:
        rare = F.when(F.col("family") == RARE_ONES, F.to_json(F.struct(*RARE))).alias(RARE_COLUMN)
        selected = with_family(lines).select("family", PROBLEM, *names, rare)
        selected.write.partitionBy("family").parquet(f"{kept}/reader={SPARK}")
    texts = [T.StructField(name, T.StringType()) for name in ("reader", "family", PROBLEM, RARE_COLUMN)]
    written = spark.read.schema(T.StructType([*texts, *spark_schema(names).fields])).parquet(kept)
    all_lines = with_run(written, runs)
    return Kept(
        path=path,
        lines=all_lines.drop("reader"),
        families=frozenset(folder.name.partition("=")[2] for folder in Path(kept).glob("reader=*/family=*")),
        sums=_sums(spark, path),
        left=None if lines is None else all_lines.where(F.col("reader") == SPARK).drop("reader"),
    )


def _sums(spark: SparkSession, path: str) -> tuple[DataFrame, DataFrame] | None:
    tallies, stretches = (Path(path, name) for name in Sums._fields)
    if not tallies.exists():
        return None
    return spark.read.parquet(str(tallies)), spark.read.parquet(str(stretches))


def written_columns(columns: Sequence[str], runs: Sequence[RunDirectory]) -> list[str]:
    """Columns that are kept in files: all, without the name of a single run."""
    return [name for name in columns if name != "run" or len(runs) > 1]


def with_run(rows: DataFrame, runs: Sequence[RunDirectory]) -> DataFrame:
    """`rows` of such files with their column `run`."""
    return rows if len(runs) > 1 else rows.withColumn("run", F.lit(run_keys(runs)[0]))


def with_family(lines: DataFrame) -> DataFrame:
    """The lines with `family`, and with `cause` for those WITH_CAUSE alone."""
    family = F.lit(RARE_ONES)
    for event, table in FAMILY_OF.items():
        family = F.when(F.col("event") == event, F.lit(table)).otherwise(family)
    cause = F.when(F.col("family").isin(*WITH_CAUSE), F.col("cause"))
    return lines.withColumn("family", family).withColumn("cause", cause)


class _Compacting:
    """Writes the lines of `runs` into files at `path`, by family, and refused ones into `left`.

    The latter have the names of their sources.
    """

    def __init__(self, runs: Sequence[RunDirectory], path: Path, left: Path) -> None:
        self._path = path
        self._left = left
        self._many = len(runs) > 1
        self._ranges = iter([*_ranges(runs)])
        self._alone = threading.Lock()
        self._ended = False

    def run(self) -> None:
        """Write all lines. Raises OSError."""
        shutil.rmtree(self._left, ignore_errors=True)
        for folder in (self._path / "kept" / f"reader={ARROW}", self._left):
            folder.mkdir(parents=True)
        threads = min(len(os.sched_getaffinity(0)), THREADS_MAX)
        with ThreadPoolExecutor(threads, thread_name_prefix="compact") as pool:
            try:
                for done in [pool.submit(self._work, number) for number in range(threads)]:
                    done.result()
            finally:
                self._ended = True  # stops the other threads, after a failure or an interrupt

    def _work(self, number: int) -> None:
        with ExitStack() as stack:
            files = _Files(self._path, number, self._many, stack)
            while not self._ended and (together := self._next()):
                blocks = [block for one in together for block in lines_of(one).blocks]
                for block in refused(blocks, files.take):
                    self._leave(block)
            if not self._ended:
                files.finish()

    def _next(self) -> list[Range]:
        """As many ranges as make a block."""
        with self._alone:
            return packed(self._ranges)

    def _leave(self, block: Block) -> None:
        """Leave lines to Spark, in a file with the name of their source."""
        of = block.of
        below = 2 if of.path.parent.name == EVENTS_FOLDER else 3  # a node's own folder
        path = self._left / of.key / Path(*of.path.parts[-below:])
        with self._alone:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(block.lines)


def _ranges(runs: Sequence[RunDirectory]) -> Iterator[Range]:
    for run, key in zip(runs, run_keys(runs), strict=True):
        called = run.called
        for file in run.files:
            if not file.wire:
                yield from ranges_of(file.path, Source(called, file.path.name), key, 0, file.size_bytes)


class _Files:
    """Files of one thread: Parquet for each family and for each of Sums; `stack` closes them."""

    def __init__(self, path: Path, number: int, many: bool, stack: ExitStack) -> None:
        self._path = path
        self._kept = path / "kept" / f"reader={ARROW}"
        self._name = f"part-{number}.parquet"
        self._many = many
        self._stack = stack
        self._writers: dict[str, Any] = {}
        self._waiting: dict[str, list[pa.Table]] = {}
        self._rows: Counter[str] = Counter()
        self._sums: list[Sums] = []

    def take(self, blocks: Sequence[Block]) -> bool:
        """Write all blocks or none; returns whether it did."""
        import pyarrow as pa

        try:
            tables = tables_of([(block.lines, block.of.source) for block in blocks])
        except Refused:
            return False
        if tables:  # a block within a longer line has none
            self._sums.append(sums_of(tables, [block.of.key for block in blocks]))
        for family, (table, counts) in tables.items():
            if self._many:
                keys = [pa.repeat(block.of.key, count) for block, count in zip(blocks, counts, strict=True)]
                table = table.append_column("run", pa.chunked_array(keys))
            self._wait(family, table)
        return True

    def finish(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for family in self._waiting:
            self._write(family)
        for name in Sums._fields if self._sums else ():
            folder = self._path / name
            folder.mkdir(exist_ok=True)
            pq.write_table(pa.concat_tables([getattr(sums, name) for sums in self._sums]), folder / self._name)

    def _wait(self, family: str, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        if family not in self._writers:
            folder = self._kept / f"family={family}"
            folder.mkdir(exist_ok=True)
            few = [name for name in table.column_names if name in LOW]
            writer = pq.ParquetWriter(
                folder / self._name, table.schema, compression="none", use_dictionary=few, write_statistics=False
            )
            self._writers[family] = self._stack.enter_context(writer)
        self._waiting.setdefault(family, []).append(table)
        self._rows[family] += table.num_rows
        if self._rows[family] >= ROWS_A_GROUP:
            self._write(family)

    def _write(self, family: str) -> None:
        import pyarrow as pa

        if self._waiting[family]:
            self._writers[family].write_table(pa.concat_tables(self._waiting[family]))
        self._waiting[family] = []
        self._rows[family] = 0
