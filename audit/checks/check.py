"""Type of a check: events in, rows out. No rows: held. Rows: violated.

Evidence missing: unknown.

A check is two queries over the tables of `audit.check_tables`. `violations` has one row per violation:
VIOLATION_COLUMNS. `evidence` has one row per place that cannot be judged: EVIDENCE_COLUMNS. A violation at such a place
is not reported, because the missing evidence may refute it. `audit.audit_run` runs the queries of all checks at once.

They are SQL text because a run of ordinary size should be judged in a second or two. One text is parsed and analysed
once; the same query built from column objects costs thousands of calls into Java, more than the query itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

VIOLATION_COLUMNS = ("run", "topic", "partition", "offset", "text", "details")
"""Columns of a violation.

`topic` "", `partition` -1: the whole run; `offset` -1: none; `details`: JSON.
"""

EVIDENCE_COLUMNS = ("run", "topic", "partition", "text")

Counts = Mapping[str, int]
"""{event name: count in a run}; absent: 0.

Also `acknowledged` (produces that ended ok; with acks=all: `acknowledged_by_all`), `commits` and `looks` (of groups,
that ended ok), `led_appends` (batches appended by a leader) and `led_watermarks`.
"""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One anomaly. `definition`: its module's docstring.

    - levels: levels of events that must have been recorded
    - subjects: count of the things (`subject`) that a run has to judge; none: the check is skipped
    - needs: events without which nothing is known about them; "one or other": either is enough
    - evidence: "": the log need not be complete
    - counted: a query with a row (`run`) for each thing to judge, where counts of events do not show it; it replaces
      subjects
    - counted_as: SQL expression that counts its rows
    - of_absence: its rows state that something did not happen; where events are missing, the check is unknown, whatever
      it found
    """

    name: str
    title: str
    definition: str
    levels: tuple[str, ...]
    needs: tuple[str, ...]
    subject: str
    subjects: Callable[[Counts], int]
    violations: str
    evidence: str = ""
    counted: str = ""
    counted_as: str = "count(*)"
    of_absence: bool = False

    def missing(self, counts: Counts) -> str | None:
        """Reason why the run as a whole cannot be judged; None: it can."""
        absent = [name for name in self.needs if not any(counts[one] for one in name.split(" or "))]
        return f"no event {' or '.join(absent)} was recorded" if absent else None
