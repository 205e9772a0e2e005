"""Soundness of the audit's pre-tests: no part that one leaves out has a row.

A verdict of many runs together is found without pre-tests (`audit.audit_run`), so it shows what one would have hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from audit.checks.check_registry import CHECKS
from audit.checks.log_evidence import UNREADABLE_LEADERS, UNREADABLE_LOGS
from audit.input import read_directory
from audit.parsed_events import parsed_events
from audit.pretests.part_pretests import may_have_rows
from audit.pretests.pretest_registry import Kind
from audit.topic_incarnations import lives_in_files
from emulator.runs.verdict_file import Verdict

DOUBTS: Final = {
    "operations": "^of operations of ",
    "led-untold": " appended as leader without ",
    "loaded-untold": " found logs longer than in its events",
    "unappended": "no event has a replica that appended them",
    "clock": "^the clock of .* went back ",
    "clocks": "^the clocks of .* contradict each other",
}
"""{question about contradictory events: pattern of its reason}"""


def hidden_parts(run: Path, verdict: Verdict) -> list[str]:
    """Parts with a row according to the verdict that pre-tests leave out; none if sound."""
    directory = read_directory(run)
    files = parsed_events([directory])
    if files is None or files.pretested is None or lives_in_files([directory]).found:
        return []
    pretested = files.pretested
    return [f"{kind} {name}" for kind, name in _parts_with_rows(verdict) if not may_have_rows(kind, name, pretested)]


def _parts_with_rows(verdict: Verdict) -> Iterator[tuple[Kind, str]]:
    for name, check in verdict.checks.items():
        if check.count:
            yield "violations", name
        if CHECKS[name].counted and check.judged:
            yield "counted", name
        # Other reasons are of the run as a whole.
        if check.verdict == "unknown" and _of_place(check.reason) and check.reason not in verdict.unknown_because:
            of_logs = CHECKS[name].evidence in (UNREADABLE_LOGS, UNREADABLE_LEADERS)
            yield ("table", "unreadable") if of_logs else ("evidence", name)
    for name, pattern in DOUBTS.items():
        if any(re.search(pattern, reason) for reason in verdict.unknown_because):
            yield "about", name
    if sum(verdict.measures["unknown_outcomes"][kind] for kind in ("in_log", "not_in_log")):
        yield "about", "unknown-outcomes"
    if any(verdict.measures["unavailable_ms"].values()):
        yield "about", "unavailable"
    if any(verdict.measures[name] for name in ("dual_leader_ms", "dual_controller_ms")):
        yield "about", "two-at-once"


def _of_place(reason: str) -> bool:
    """Whether the evidence of a place is why a check is unknown."""
    return reason.startswith(("the events of ", "no event has the l", "no event of "))
