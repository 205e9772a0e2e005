"""Lines that are no events: counted apart from torn ones, and kept in RUN/quarantine.jsonl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import Window
from pyspark.sql import functions as F

from audit.event_lines import LINE_SHOWN_MAX, read_quarantine, run_keys
from audit.input import RunDirectory
from emulator.judging.findings import EventCount
from emulator.regular_files import write_whole
from emulator.runs.verdict_file import Quarantine
from protocol.events.event_parsing import LINE_BYTES_MAX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUARANTINE_FILE = "quarantine.jsonl"
QUARANTINE_LINES_MAX = 10_000
"""Maximum of lines kept in the file; all are counted."""


def quarantine(
    spark: SparkSession, runs: Sequence[RunDirectory], counts: Sequence[Sequence[EventCount]]
) -> list[Quarantine]:
    """Quarantine of each of `runs`. Reads the files once more where lines must be kept."""
    broken = {run.path for run, of_run in zip(runs, counts, strict=True) if _to_keep(run, of_run)}
    again = [run for run in runs if run.path in broken]
    keys = {run.path: key for run, key in zip(again, run_keys(again), strict=True)}
    rows: dict[str, list[Any]] = {key: [] for key in keys.values()}
    if again:
        torn = max(sum(file.torn is not None for file in run.files) for run in again)
        rank = F.row_number().over(Window.partitionBy("run").orderBy("file"))
        lines = read_quarantine(spark, again).withColumn("rank", rank)
        for row in lines.where(F.col("rank") <= QUARANTINE_LINES_MAX + torn).collect():
            rows[row["run"]].append(row)
    return [
        _set_aside(run, of_run, rows[keys[run.path]]) if run.path in broken else _nothing(run)
        for run, of_run in zip(runs, counts, strict=True)
    ]


def _to_keep(run: RunDirectory, counts: Sequence[EventCount]) -> bool:
    """Whether a run has more broken lines than torn ones."""
    return _broken(counts) > sum(file.torn is not None for file in run.files) or any(f.too_long for f in run.files)


def _broken(counts: Sequence[EventCount]) -> int:
    return sum(count.events for count in counts if count.problem is not None)


def _nothing(run: RunDirectory) -> Quarantine:
    (run.path / QUARANTINE_FILE).unlink(missing_ok=True)
    return Quarantine(torn=sum(file.torn is not None for file in run.files))


def _set_aside(run: RunDirectory, counts: Sequence[EventCount], rows: Sequence[Any]) -> Quarantine:
    torn = [file for file in run.files if file.torn is not None]
    too_long = sum(file.too_long for file in run.files)
    ends = {(file.path.name, _alike(file.torn.decode("utf-8", "replace"))) for file in torn if file.torn is not None}
    reasons: Counter[str] = Counter()
    for count in counts:
        if count.problem is not None:
            reasons[count.problem] += count.events
    kept: list[bytes] = []
    for row in rows:
        if (row["file"], _alike(row["line"])) in ends:
            reasons[row["reason"]] -= 1
            continue
        kept.append(msgspec.json.encode({"file": row["file"], "reason": row["reason"], "line": row["line"]}) + b"\n")
    if too_long:
        reasons[f"longer than {LINE_BYTES_MAX} bytes"] += too_long
    write_whole(run.path / QUARANTINE_FILE, b"".join(kept))
    return Quarantine(
        lines=max(0, _broken(counts) - len(torn)) + too_long,
        torn=len(torn),
        reasons={why: n for why, n in reasons.items() if n > 0},
        file=QUARANTINE_FILE,
    )


def _alike(line: str) -> str:
    """The beginning of a line without invalid text, which Java and Python mark differently."""
    return line[:LINE_SHOWN_MAX].replace("\ufffd", "")[: LINE_SHOWN_MAX // 2]
