"""Writes the outputs of `faultline audit --out` in Parquet and JSON (docs/audit-out.md).

`events` (Parquet, by level) is every event with all its fields; `checks` and `violations` (Parquet) are the verdicts as
rows; `verdicts.jsonl` is each run's verdict.json in one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from audit.event_lines import read_events
from audit.input import RunDirectory
from emulator.regular_files import write_whole
from emulator.runs.verdict_file import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKS = (
    "run string, scenario string, world string, valid string, check string, verdict string, expected boolean, "
    "count bigint, judged bigint, subject string, reason string"
)
VIOLATIONS = "run string, check string, expected boolean, partition string, offset bigint, text string, details string"
PLACED = ("partition", "offset", "text")
"""Fields of a violation's evidence that have columns of their own."""


def export(spark: SparkSession, runs: Sequence[RunDirectory], verdicts: Sequence[Verdict], out: Path) -> None:
    """Write everything into `out`; replaces former contents."""
    out.mkdir(parents=True, exist_ok=True)
    read_events(spark, runs).write.partitionBy("level").mode("overwrite").parquet(str(out / "events"))
    for name, schema, rows in (("checks", CHECKS, _checks(verdicts)), ("violations", VIOLATIONS, _found(verdicts))):
        table = spark.createDataFrame(list(rows), schema).coalesce(1)
        table.write.mode("overwrite").parquet(str(out / name))
    write_whole(out / "verdicts.jsonl", b"".join(msgspec.json.encode(verdict) + b"\n" for verdict in verdicts))


def _checks(verdicts: Sequence[Verdict]) -> Iterator[tuple[Any, ...]]:
    for of in verdicts:
        for name, check in of.checks.items():
            found = (check.verdict, check.expected, check.count, check.judged, check.subject, check.reason)
            yield (of.run, of.scenario, of.world, msgspec.json.encode(of.valid).decode().strip('"'), name, *found)


def _found(verdicts: Sequence[Verdict]) -> Iterator[tuple[Any, ...]]:
    for of in verdicts:
        for name, check in of.checks.items():
            for one in check.evidence:
                details = {key: value for key, value in one.items() if key not in PLACED}
                place = (one.get("partition"), one.get("offset"), one["text"])
                yield (of.run, name, check.expected, *place, msgspec.json.encode(details).decode())
