"""What a check is: events in, rows out. No rows: held. Rows: violated. Evidence missing: unknown.

A check is two queries over the tables of `audit.facts`. `violations` gives one row per violation: VIOLATION_COLUMNS.
`evidence` gives one row per place that cannot be judged: EVIDENCE_COLUMNS; a violation at such a place is not
reported, because what is missing may be what would refute it. `audit.judging` runs those of all checks at once.

They are SQL text because a run of ordinary size should be judged in a second or two: one text is parsed and analysed
once, while the same query built from column objects costs thousands of calls into Java, more than the query itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

VIOLATION_COLUMNS = ("run", "topic", "partition", "offset", "text", "details")
"""`topic` "" and `partition` -1: of the whole run; `offset` -1: of none; `text`: what happened; `details`: as JSON."""

EVIDENCE_COLUMNS = ("run", "topic", "partition", "text")

Counts = Mapping[str, int]
"""How many events of each name a run has; also `acknowledged` (produces that ended ok; with acks=all:
`acknowledged_by_all`), `commits` and `looks` (of groups, that ended ok), `led_appends` (batches appended by a leader)
and `led_watermarks`. Absent: 0."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One anomaly. `definition`: its module's docstring.

    levels: what must have been recorded. subjects: how many things (`subject`) a run has to judge; none: the check is
    skipped. needs: events without which nothing can be said about them. evidence "": the log needs not be complete.
    counted: a query with a row (`run`) for each thing to judge, where numbers of events do not tell; then it counts
    instead of subjects; counted_as: what of its rows is their number. of_absence: its rows say that something did not
    happen, so that where events are missing they accuse nobody: the check is unknown, whatever it found."""

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
        """Why the run as a whole cannot be judged; None: it can."""
        absent = [name for name in self.needs if not counts[name]]
        return f"no event {' or '.join(absent)} was recorded" if absent else None
