"""The audit of a run that is still being played, asked before there is anything to read.

Of what an audit of an ordinary run costs, nearly all is Spark's driver at work: names looked up, types found, plans
made (docs/audit-cost.md). None of it needs the events. So a run that starts its virtual machine early has it plan the
very queries that will judge it, while its cluster is at work; when that has ended, they are only run.

For that nothing of a plan may depend on what is going to be in the files. Their lines come from a task of one partition
that looks for files when it runs (`Ahead._read`), and what is made of them is kept lazily, partition by partition.
Some runs need another plan: those that delete topics, big ones, and those with a line that is no event. They are told
by `Ahead.judge`, and judged as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from audit.checks.check import Check
from audit.events import FILE, LINE, typed_text
from audit.facts import SMALL_MAX_BYTES
from audit.families import COLUMNS
from audit.input import RunDirectory
from audit.judging import EVIDENCE_MAX, collected, judged_by, make, values_of
from audit.lives import lives_in_files
from audit.prepared import prepare
from audit.questions import WIRE_COLUMNS, WIRE_LINES, How, questions
from audit.session import first_line
from audit.side_by_side import side_by_side
from audit.tuning import tuned
from emulator.judging.findings import Judged
from emulator.layout import EVENTS_FOLDER, WIRE_SUFFIX, event_paths
from emulator.regular_files import read_regular

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BYTES_MAX = SMALL_MAX_BYTES
"""Of a run that is read line by line by Python."""
LINES_AT_ONCE = 1_000
"""That Python hands to Spark as one row: a row each would take as long as to parse them."""


class Ahead:
    """`run`: its directory, where there need not be anything yet. It is judged once. `problem`: why it cannot be
    planned, "" as far as is known."""

    def __init__(
        self, spark: SparkSession, run: Path, checks: Sequence[Check], evidence_max: int = EVIDENCE_MAX
    ) -> None:
        self._spark = spark
        self._checks = checks
        self._run = RunDirectory(run.resolve(), ())
        self.problem = ""
        with tuned(spark, small=True):
            try:
                # Who will read starts meanwhile: two Pythons, which are used again.
                side_by_side(lambda do: do(), [lambda: self._plan(evidence_max), self._wake])
            except PySparkException as error:
                self.problem = first_line(error)

    def _wake(self) -> None:
        self._read(wire=False).union(self._read(wire=True)).collect()

    def _plan(self, evidence_max: int) -> None:
        facts = prepare(self._spark, [self._run], self.lines(COLUMNS))
        self.lines(WIRE_COLUMNS, wire=True).createOrReplaceTempView(WIRE_LINES)
        # Views are the session's: who asks next makes others of these names.
        self._invocations = self._spark.table("invocations")
        queries = questions(self._checks, evidence_max, How(tallied=False, wire=True))
        self._makers = [side_by_side(_planned, floor) for floor in facts.makers()]
        self._answers = side_by_side(lambda query: _planned(facts.sql(query)), queries)

    def lines(self, columns: Sequence[str], *, wire: bool = False) -> DataFrame:
        """As `read_lines` gives them of a run that is there; but a line that is no event need not be told as one way or
        another of not being one."""
        return typed_text(self._read(wire=wire), self._run, columns)

    def _read(self, *, wire: bool) -> DataFrame:
        """FILE and LINE of what the run's files hold when somebody asks for it."""
        context = self._spark.sparkContext
        rows = context.parallelize([0], 1).mapPartitions(_reading(self._run.path, wire))
        some = self._spark.createDataFrame(rows, f"{FILE} STRING, lines ARRAY<BINARY>", verifySchema=False)
        lines = some.select(FILE, F.explode("lines").alias("bytes"))
        return lines.select(FILE, F.col("bytes").cast("string").alias(LINE))

    def judge(self, runs: Sequence[RunDirectory]) -> list[Judged] | None:
        """None: this is another run, or of a kind that was not planned for, or Spark could not do it so."""
        if self.problem or len(runs) != 1 or not self._is_as_planned(runs[0]):
            return None
        with tuned(self._spark, small=True):
            try:
                make(self._makers)
                rows = [row for rows in side_by_side(collected, self._answers) for row in rows]
                values = values_of(rows, self._invocations)
            except PySparkException as error:
                self.problem = first_line(error)
                return None  # what is the matter is told by who asks in the usual way
        [judged] = judged_by(rows, values, self._checks, [self._run.name])
        return None if any(count.problem is not None for count in judged.counts) else [judged]

    def _is_as_planned(self, run: RunDirectory) -> bool:
        plain = all(file.torn is None and not file.too_long for file in run.files)
        same = run.path == self._run.path and run.called == run.name
        return plain and same and run.size_bytes <= BYTES_MAX and not lives_in_files([run]).told


def _planned(answer: DataFrame) -> DataFrame:
    """What carries its plan out is made as well, for that takes a third of a second. A plan with a subquery would ask
    for its rows now."""
    plan = answer._jdf.queryExecution().executedPlan()
    if not plan.subqueriesAll().nonEmpty():
        plan.execute()
    return answer


def _reading(run: Path, wire: bool) -> Callable[[Iterable[int]], Iterator[tuple[str, list[bytearray]]]]:
    def read(given: Iterable[int]) -> Iterator[tuple[str, list[bytearray]]]:
        # What is left of it would end this Python: Spark takes one that has read all it was given for another task.
        assert list(given) == [0]
        for path in event_paths(run / EVENTS_FOLDER):
            if path.name.endswith(WIRE_SUFFIX) == wire:
                lines = read_regular(path, BYTES_MAX).splitlines()
                for first in range(0, len(lines), LINES_AT_ONCE):
                    yield path.name, [*map(bytearray, lines[first : first + LINES_AT_ONCE])]

    return read
