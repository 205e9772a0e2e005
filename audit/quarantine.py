"""Lines that are no events: counted, told apart from torn ones, and kept in RUN/quarantine.jsonl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from audit.events import read_quarantine
from audit.findings import EventCount
from audit.input import RunDirectory
from audit.verdict import Quarantine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUARANTINE_FILE = "quarantine.jsonl"
QUARANTINE_LINES_MAX = 10_000
"""Lines kept in the file; all are counted."""


def quarantine(spark: SparkSession, run: RunDirectory, counts: Sequence[EventCount]) -> Quarantine:
    """What of `run` is no event. Reads the files once more only if there is something to keep."""
    torn = [file for file in run.files if file.torn is not None]
    broken = sum(count.events for count in counts if count.problem is not None)
    if broken <= len(torn):
        (run.path / QUARANTINE_FILE).unlink(missing_ok=True)
        return Quarantine(torn=len(torn))
    ends = {(file.path.name, file.torn.decode("utf-8", "replace")) for file in torn if file.torn is not None}
    reasons: Counter[str] = Counter()
    for count in counts:
        if count.problem is not None:
            reasons[count.problem] += count.events
    kept = 0
    path = run.path / QUARANTINE_FILE
    with path.open("wb") as file:
        for row in read_quarantine(spark, [run]).limit(QUARANTINE_LINES_MAX + len(torn)).collect():
            if (row["file"], row["line"]) in ends:
                reasons[row["reason"]] -= 1
                continue
            kept += 1
            file.write(msgspec.json.encode({"file": row["file"], "reason": row["reason"], "line": row["line"]}) + b"\n")
    return Quarantine(
        lines=broken - len(torn),
        torn=len(torn),
        reasons={why: n for why, n in reasons.items() if n > 0},
        file=path.name,
    )
