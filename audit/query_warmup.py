"""Plans the audit of a run that is still being played, before there are events to read.

Spark's driver takes nearly all the time of an ordinary audit: it looks names up, finds types, makes plans
(docs/audit-cost.md). None of that needs the events. A run that starts its virtual machine early has it plan the queries
while the cluster is at work. When the cluster has ended, the planned queries are only run.

For that, no plan may depend on the files' contents. A task of one partition looks for the files when it runs
(`Ahead._read`), and its lines are cached lazily, partition by partition. Some runs need another plan: those that delete
topics, big ones, and those with a line that is no event. `Ahead.judge` detects them, and the ordinary audit judges
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from audit.audit_run import EVIDENCE_MAX, collected, judged_by, values_of
from audit.checks.check import Check
from audit.concurrent_queries import side_by_side
from audit.event_groups import COLUMNS
from audit.event_lines import FILE, LINE, typed_text
from audit.input import RunDirectory
from audit.prepared import prepare
from audit.questions import WIRE_COLUMNS, WIRE_LINES, How, questions
from audit.spark_session import first_line
from audit.table_catalog import SMALL_MAX_BYTES, make
from audit.topic_incarnations import lives_in_files
from audit.tuning import tuned
from emulator.judging.findings import Judged
from emulator.regular_files import read_regular
from emulator.run_layout import EVENTS_FOLDER, WIRE_SUFFIX, event_paths

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BYTES_MAX = SMALL_MAX_BYTES
"""Maximum size of a run that Python reads line by line."""
LINES_AT_ONCE = 1_000
"""Lines that Python passes to Spark as one row; a row each would take as long as parsing."""


class Ahead:
    """A planned audit of one run.

    `run`: its directory, which may still be empty. It is judged once. `problem`: why it cannot be planned, "" as far as
    known.
    """

    def __init__(
        self, spark: SparkSession, run: Path, checks: Sequence[Check], evidence_max: int = EVIDENCE_MAX
    ) -> None:
        self._spark = spark
        self._checks = checks
        self._run = RunDirectory(run.resolve(), ())
        self.problem = ""
        with tuned(spark, small=True):
            try:
                # Meanwhile two Python workers start, which the audit reuses.
                side_by_side(lambda do: do(), [lambda: self._plan(evidence_max), self._wake])
            except PySparkException as error:
                self.problem = first_line(error)

    def _wake(self) -> None:
        self._read(wire=False).union(self._read(wire=True)).collect()

    def _plan(self, evidence_max: int) -> None:
        facts = prepare(self._spark, [self._run], self.lines(COLUMNS), ahead=True)
        self.lines(WIRE_COLUMNS, wire=True).createOrReplaceTempView(WIRE_LINES)
        # Views belong to the session; later queries may replace these names.
        self._invocations = self._spark.table("invocations")
        queries = questions(self._checks, evidence_max, How(tallied=False, wire=True))
        self._makers = [side_by_side(_planned, floor) for floor in facts.makers()]
        self._answers = side_by_side(lambda query: _planned(facts.sql(query)), queries)

    def lines(self, columns: Sequence[str], *, wire: bool = False) -> DataFrame:
        """The lines as `read_lines` returns them of a finished run, but reasons of broken ones."""
        return typed_text(self._read(wire=wire), self._run, columns)

    def _read(self, *, wire: bool) -> DataFrame:
        """FILE and LINE of the lines that the run's files hold at the time of execution."""
        context = self._spark.sparkContext
        rows = context.parallelize([0], 1).mapPartitions(_reading(self._run.path, wire))
        some = self._spark.createDataFrame(rows, f"{FILE} STRING, lines ARRAY<BINARY>", verifySchema=False)
        lines = some.select(FILE, F.explode("lines").alias("bytes"))
        return lines.select(FILE, F.col("bytes").cast("string").alias(LINE))

    def judge(self, runs: Sequence[RunDirectory]) -> list[Judged] | None:
        """Run the plan; None: another run, an unplanned kind of run, or a failure of Spark."""
        if self.problem or len(runs) != 1 or not self._is_as_planned(runs[0]):
            return None
        with tuned(self._spark, small=True):
            try:
                make(self._makers)
                rows = [row for rows in side_by_side(collected, self._answers) for row in rows]
                values = values_of(rows, self._invocations)
            except PySparkException as error:
                self.problem = first_line(error)
                return None  # the ordinary audit reports the error
        [judged] = judged_by(rows, values, self._checks, [self._run.name])
        return None if any(count.problem is not None for count in judged.counts) else [judged]

    def _is_as_planned(self, run: RunDirectory) -> bool:
        plain = all(file.torn is None and not file.too_long for file in run.files)
        same = run.path == self._run.path and run.called == run.name
        return plain and same and run.size_bytes <= BYTES_MAX and not lives_in_files([run]).found


def _planned(answer: DataFrame) -> DataFrame:
    """Make a query's plan and its executable form, which takes a third of a second.

    A plan with a subquery would need its rows now, so it gets no executable form.
    """
    plan = answer._jdf.queryExecution().executedPlan()
    if not plan.subqueriesAll().nonEmpty():
        plan.execute()
    return answer


def _reading(run: Path, wire: bool) -> Callable[[Iterable[int]], Iterator[tuple[str, list[bytearray]]]]:
    def read(given: Iterable[int]) -> Iterator[tuple[str, list[bytearray]]]:
        # A generator that is left unfinished would end this Python worker: Spark reuses only those that read all.
        assert list(given) == [0]
        for path in event_paths(run / EVENTS_FOLDER):
            if path.name.endswith(WIRE_SUFFIX) == wire:
                lines = read_regular(path, BYTES_MAX).splitlines()
                for first in range(0, len(lines), LINES_AT_ONCE):
                    yield path.name, [*map(bytearray, lines[first : first + LINES_AT_ONCE])]

    return read
