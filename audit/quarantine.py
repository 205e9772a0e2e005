"""Lines that are no events: counted, told apart from torn ones, and kept in RUN/quarantine.jsonl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from audit.events import LINE_SHOWN_MAX, read_quarantine
from audit.input import RunDirectory
from emulator.judging.findings import EventCount
from emulator.regular_files import write_whole
from emulator.runs.verdict import Quarantine
from protocol.events.reading import LINE_BYTES_MAX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUARANTINE_FILE = "quarantine.jsonl"
QUARANTINE_LINES_MAX = 10_000
"""Lines kept in the file; all are counted."""


def quarantine(spark: SparkSession, run: RunDirectory, counts: Sequence[EventCount]) -> Quarantine:
    """What of `run` is no event. Reads the files once more only if there is something to keep."""
    torn = [file for file in run.files if file.torn is not None]
    too_long = sum(file.too_long for file in run.files)
    broken = sum(count.events for count in counts if count.problem is not None)
    if broken <= len(torn) and not too_long:
        (run.path / QUARANTINE_FILE).unlink(missing_ok=True)
        return Quarantine(torn=len(torn))
    ends = {(file.path.name, _alike(file.torn.decode("utf-8", "replace"))) for file in torn if file.torn is not None}
    reasons: Counter[str] = Counter()
    for count in counts:
        if count.problem is not None:
            reasons[count.problem] += count.events
    kept: list[bytes] = []
    path = run.path / QUARANTINE_FILE
    for row in read_quarantine(spark, [run]).limit(QUARANTINE_LINES_MAX + len(torn)).collect():
        if (row["file"], _alike(row["line"])) in ends:
            reasons[row["reason"]] -= 1
            continue
        kept.append(msgspec.json.encode({"file": row["file"], "reason": row["reason"], "line": row["line"]}) + b"\n")
    if too_long:
        reasons[f"longer than {LINE_BYTES_MAX} bytes"] += too_long
    write_whole(path, b"".join(kept))
    return Quarantine(
        lines=max(0, broken - len(torn)) + too_long,
        torn=len(torn),
        reasons={why: n for why, n in reasons.items() if n > 0},
        file=path.name,
    )


def _alike(line: str) -> str:
    """The beginning of a line, without what was no text: Java and Python put another number of marks in its place."""
    return line[:LINE_SHOWN_MAX].replace("\ufffd", "")[: LINE_SHOWN_MAX // 2]
