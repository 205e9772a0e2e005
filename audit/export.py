"""What `faultline audit --out` leaves: all events as Parquet, all verdicts as JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from audit.events import read_events
from audit.input import RunDirectory
from emulator.regular_files import write_whole
from emulator.runs.verdict import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def export(spark: SparkSession, runs: Sequence[RunDirectory], verdicts: Sequence[Verdict], out: Path) -> None:
    """`out/events` (Parquet, by level) and `out/verdicts.jsonl`; earlier ones are replaced."""
    out.mkdir(parents=True, exist_ok=True)
    read_events(spark, runs).write.partitionBy("level").mode("overwrite").parquet(str(out / "events"))
    write_whole(out / "verdicts.jsonl", b"".join(msgspec.json.encode(verdict) + b"\n" for verdict in verdicts))
