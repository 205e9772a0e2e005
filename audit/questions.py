"""Queries of one audit: the rows of all checks, and facts about the run itself.

Every result is a row (`run`, `check`, `kind`, ...):
- `violation`: the first of each check and run, with `total` (count of all) and `by_acks`;
- `counted`: count of subjects to judge, where counts of events do not show it;
- `missing`: places that cannot be judged, bounded likewise;
- `counts`: events of each name and node, with the first and last sequence number; broken lines by reason;
- `doubt`: contradictory events (`audit.evidence_contradictions`);
- `note`: events about the run itself (faults, deaths, timers, steps), at most NOTES_MAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS, UNREADABLE_LOGS
from audit.concurrent_queries import AT_ONCE_MAX
from audit.event_counts import OF_LINES, TALLIES
from audit.evidence_contradictions import DOUBTS
from audit.pretests.part_pretests import may_have_rows
from audit.pretests.pretest_registry import Kind
from audit.pretests.pretested_run import PretestedRun
from emulator.judging.findings import ACKS, ALLOWED, EventCount, Note

WIRE_LINES = "wire_lines"
WIRE_COLUMNS = ("run", "node", "incarnation", "event", "seq", "at_ms")
"""Columns of the wire level's lines, where there are any."""

NOTES_MAX = 5_000
WORST_REPORTS_MAX = 200
"""Reports of lateness that are notes of their own."""
CHECKS_A_QUERY = 4
"""About so many checks per query, the cheapest count (docs/audit-cost.md)."""

NOTED = (
    *("node_started", "node_stopped", "timer_lateness", "machine_fault", "scenario_step"),
    *("fault_asked", "fault_in_force", "fault_healed", "fault_lasted", "fault_tried", "fault_traffic"),
)


class How(NamedTuple):
    """Options.

    `tallied`: there is a table of `audit.event_counts`; `wire`: there is a table WIRE_LINES.
    """

    tallied: bool
    wire: bool


class Part(NamedTuple):
    """A part of the audit with a query of its own.

    `of`: its check, or the name of a question about the run itself. `table`: a table without which it has no row.
    """

    kind: Kind
    of: str
    query: str
    table: str = ""

    def may_have_rows(self, runs: Sequence[PretestedRun]) -> bool:
        """Whether it may have a row of one of the runs, by its pre-test."""
        if self.table:
            return may_have_rows("table", self.table, runs)
        return may_have_rows(self.kind, self.of, runs)


def parts_of(checks: Sequence[Check], how: How) -> list[Part]:
    """All parts, over the tables of `audit.check_tables`."""
    parts: list[Part] = []
    for check in checks:
        parts.append(Part("violations", check.name, _violations(check)))
        if check.evidence:
            of_logs = check.evidence in (UNREADABLE_LOGS, UNREADABLE_LEADERS)
            parts.append(Part("evidence", check.name, _missing(check), "unreadable" if of_logs else ""))
        if check.counted:
            parts.append(Part("counted", check.name, _counted(check)))
    return [*parts, *(Part("about", name, query) for name, query in _about(how).items())]


def questions(parts: Sequence[Part], rows_max: int, *, apart: Callable[[str], bool] = lambda _: False) -> list[str]:
    """Queries that together return all rows of the parts.

    `rows_max`: of each run, check and kind. `apart`: whether a query must not be part of one with the others.
    """
    # A violation at a place that cannot be judged does not count: a check's two parts are in one query.
    of_checks: dict[str, list[str]] = {}
    for part in parts:
        if part.kind in ("violations", "evidence"):
            of_checks.setdefault(part.of, []).append(part.query)
    rows = ["\nUNION ALL\n".join(queries) for queries in of_checks.values()]
    others = [part.query for part in parts if part.kind in ("counted", "about")]
    queries: list[str] = []
    for side in (False, True):
        queries += _dealt(
            [one for one in rows if apart(one) is side], [one for one in others if apart(one) is side], rows_max
        )
    return queries


def questions_apart(parts: Sequence[Part], rows_max: int) -> dict[str, list[str]]:
    """{check: its queries}; "": those about the run itself."""
    of: dict[str, list[Part]] = {"": []}
    for part in parts:
        of.setdefault("" if part.kind == "about" else part.of, []).append(part)
    return {name: questions(some, rows_max) for name, some in of.items()}


def _dealt(rows: Sequence[str], others: Sequence[str], rows_max: int) -> list[str]:
    """Queries with equal shares of both."""
    if not rows and not others:
        return []
    queries = max(1, min(AT_ONCE_MAX, (len(rows) + len(others)) // CHECKS_A_QUERY))
    return [
        _united([*([_bounded(some, rows_max)] if (some := rows[k::queries]) else []), *others[k::queries]])
        for k in range(queries)
    ]


def _united(parts: Sequence[str]) -> str:
    """One query for the rows of all parts."""
    rows = "\nUNION ALL\n".join(f"SELECT * FROM ({part})" for part in parts)
    return f"SELECT /*gather*/ * FROM ({rows})"


def _about(how: How) -> dict[str, str]:
    """{name: question about the run itself}"""
    wire = {"wire-counts": _WIRE_COUNTS} if how.wire else {}
    return {
        "counts": _counts("tallies" if how.tallied else f"({TALLIES})"),
        "notes": _NOTES,
        "unavailable": _UNAVAILABLE,
        "unknown-outcomes": _UNKNOWN_OUTCOMES,
        "two-at-once": _TWO_AT_ONCE,
        **wire,
        **{name: _DOUBTS.format(doubts=query) for name, query in DOUBTS.items()},
    }


def _violations(check: Check) -> str:
    return f"""
SELECT run, '{check.name}' AS check, 'violation' AS kind, topic, partition, offset, text, details
FROM ({check.violations})"""


def _missing(check: Check) -> str:
    """The places that cannot be judged."""
    return f"""
SELECT run, '{check.name}' AS check, 'missing' AS kind, topic, partition, -1L AS offset, text, '{{}}' AS details
FROM ({check.evidence})"""


def _counted(check: Check) -> str:
    """Count of the rows of `check.counted`, none of which is moved: there may be millions."""
    return f"""
SELECT run, '{check.name}' AS check, 'counted' AS kind, '' AS topic, -1L AS partition, -1L AS offset, '' AS text,
  '{{}}' AS details, to_json(struct({check.counted_as} AS total)) AS numbers
FROM ({check.counted}) GROUP BY run"""


def _bounded(checks: Sequence[str], rows_max: int) -> str:
    """The first rows of each run, check and kind, with their count, of judgeable places.

    `checks`: each returns all rows of one.
    """
    rows = "\nUNION ALL\n".join(checks)
    by_acks = ", ".join(
        f"count_if(get_json_object(details, '$.acks') = '{acks}') OVER kind AS acks_{name}"
        for name, acks in ACKS.items()
    )
    by_rule = ", ".join(
        f"count_if(get_json_object(details, '$.allowed') = '{rule}') OVER kind AS allowed_{name}"
        for name, rule in ALLOWED.items()
    )
    numbers = ", ".join(("total", *(f"acks_{name}" for name in ACKS), *(f"allowed_{name}" for name in ALLOWED)))
    return f"""
SELECT run, check, kind, topic, partition, offset, text, details, to_json(struct({numbers})) AS numbers
FROM (
  SELECT *, row_number() OVER (PARTITION BY run, check, kind ORDER BY topic, partition, offset, text) AS rank,
    count(*) OVER kind AS total, {by_acks}, {by_rule}
  FROM (
    SELECT *, max(kind = 'missing') OVER (PARTITION BY run, check, topic, partition) AS unjudged
    -- Every window below lies within (run, check): the rows move once. In a small run they do not move at all: a union
    -- that is left in parts is a task for each, and each task is handed the plan of all checks.
    FROM (SELECT /*gather*/ /*spread(run, check)*/ * FROM ({rows}))
  )
  WHERE kind = 'missing' OR NOT unjudged
  WINDOW kind AS (PARTITION BY run, check, kind)
)
WHERE rank <= {rows_max}
"""


def _as_answer(kind: str, shape: type[msgspec.Struct], rows: str, numbers: str = "'{}'") -> str:
    fields = ", ".join(shape.__struct_fields__)
    return f"""
SELECT run, '' AS check, '{kind}' AS kind, '' AS topic, -1L AS partition, -1L AS offset, '' AS text,
  to_json(struct({fields})) AS details, {numbers} AS numbers
FROM ({rows})"""


def _counts(tallies: str) -> str:
    """`tallies`: the table of `audit.event_counts`, or a query with such rows."""
    return _as_answer(
        "counts",
        EventCount,
        f"""
  SELECT run, node, incarnation, event, problem, sum(events) AS events, min(first_seq) AS first_seq,
    max(last_seq) AS last_seq, min(first_ms) AS first_ms, max(last_ms) AS last_ms, sum(seq_sum) AS seq_sum,
    sum(seq_squares) AS seq_squares,
    sum(IF(kind = 'produce' AND outcome = 'ok', records, 0L)) AS acknowledged,
    sum(IF(led, events, 0L)) AS led,
    sum(IF(kind = 'produce' AND outcome = 'ok' AND acks = -1, records, 0L)) AS acknowledged_by_all,
    sum(IF(event = 'operation_invoked' AND kind = 'produce', records, 0L)) AS begun,
    sum(IF(event = 'operation_ended' AND kind = 'produce', records, 0L)) AS ended,
    sum(IF(kind = 'commit' AND outcome = 'ok', events, 0L)) AS commits,
    sum(IF(kind = 'committed' AND outcome = 'ok', events, 0L)) AS looks
  FROM {tallies} GROUP BY run, node, incarnation, event, problem""",
    )


_WIRE_COUNTS = _as_answer(
    "counts",
    EventCount,
    f"""
  SELECT * EXCEPT (records), 0L AS acknowledged, 0L AS led, 0L AS acknowledged_by_all, 0L AS begun, 0L AS ended,
    0L AS commits, 0L AS looks
  FROM ({OF_LINES.format(lines=WIRE_LINES, kinds="", records="0L")})""",
)

# A process tells every few seconds how late its timers were: those reports are one note, its last with the counts of
# all, or a long run would consist of them. The worst of a run are notes, too.
_NOTES = _as_answer(
    "note",
    Note,
    f"""
  SELECT * FROM (
    SELECT *,
      row_number() OVER (PARTITION BY run ORDER BY event = 'role_changed', at_ms, node, incarnation, seq) AS rank,
      count_if(event != 'role_changed') OVER (PARTITION BY run) AS total
    FROM (
      SELECT * EXCEPT (max_ms, buckets, last_seq, max_ms_of_all, buckets_of_all, badness),
        IF(seq = last_seq, coalesce(max_ms_of_all, max_ms), NULL) AS max_ms,
        IF(seq = last_seq, coalesce(buckets_of_all, buckets), NULL) AS buckets,
        IF(badness <= {WORST_REPORTS_MAX}, max_ms, NULL) AS report_max_ms,
        IF(badness <= {WORST_REPORTS_MAX}, p50_ms, NULL) AS report_p50_ms
      FROM (
        SELECT *, max(seq) OVER reports AS last_seq,
          IF(event = 'timer_lateness', row_number() OVER (
            PARTITION BY run, event = 'timer_lateness' ORDER BY max_ms DESC NULLS LAST, node, incarnation, seq), NULL)
            AS badness,
          CASE WHEN event = 'timer_lateness' THEN max(max_ms) OVER reports END AS max_ms_of_all,
          CASE WHEN event = 'timer_lateness' THEN concat_ws(' ', collect_list(buckets) OVER reports) END
            AS buckets_of_all
        FROM rest
        WHERE event IN ({", ".join(repr(name) for name in NOTED)}) OR (event = 'role_changed' AND role = 'leader')
        WINDOW reports AS (PARTITION BY run, node, incarnation, event)
      )
      WHERE event != 'timer_lateness' OR seq = last_seq OR badness <= {WORST_REPORTS_MAX}
    )
  )
  WHERE rank <= {NOTES_MAX}""",
    numbers="to_json(struct(total))",
)

# From a produce that failed until the same client's next one ended: as long as it knew nothing better; and since when,
# where none followed (`since_ms`; the run's end is known elsewhere). Where no produce failed there is nothing to put
# into order.
_UNAVAILABLE = """
SELECT run, '' AS check, 'unavailable' AS kind, '' AS topic, -1L AS partition, -1L AS offset, node AS text,
  '{}' AS details,
  to_json(struct(
    coalesce(sum(next_ms - at_ms), 0D) AS ms, max(CASE WHEN next_ms IS NULL THEN at_ms END) AS since_ms,
    max(next_ms) AS again_ms
  )) AS numbers
FROM (
  SELECT /*few(failing)*/ run, node, outcome, at_ms,
    lead(at_ms) OVER (PARTITION BY run, node ORDER BY incarnation, seq) AS next_ms
  FROM operations
  --big LEFT SEMI JOIN (SELECT DISTINCT run, node FROM operations WHERE kind = 'produce' AND outcome != 'ok') AS failing
  --big USING (run, node)
  WHERE kind = 'produce'
)
WHERE outcome != 'ok' GROUP BY run, node
"""


# What became of records whose outcome their clients never knew: the final leader's log tells.
_UNKNOWN_OUTCOMES = """
SELECT run, '' AS check, 'unknown-outcomes' AS kind, '' AS topic, -1L AS partition, -1L AS offset, '' AS text,
  '{}' AS details,
  to_json(struct(sum(IF(there, records, 0L)) AS in_log, sum(IF(told AND NOT there, records, 0L)) AS not_in_log,
    sum(IF(told, 0L, records)) AS open)) AS numbers
FROM (
  SELECT /*few(unsure)*/ unsure.run, unsure.operation, max(unsure.records) AS records,
    max(log.run IS NOT NULL) AS there,
    max(led.run IS NOT NULL) AS told
  FROM (SELECT * FROM operations WHERE kind = 'produce' AND outcome = 'unknown' AND NOT gone) AS unsure
  LEFT JOIN (SELECT * FROM logs WHERE leads AND base_offset IS NOT NULL) AS log
    ON unsure.run = log.run AND unsure.topic = log.topic AND unsure.partition = log.partition
    AND unsure.digest = log.digest
  LEFT JOIN (SELECT DISTINCT run, topic, partition FROM log_ranges WHERE leads) AS led
    ON unsure.run = led.run AND unsure.topic = led.topic AND unsure.partition = led.partition
  GROUP BY unsure.run, unsure.operation
)
GROUP BY run
"""

# How long two were in one office, used or not; and since when, where it lasted to the run's end.
_TWO_AT_ONCE = """
SELECT run, '' AS check, 'two-at-once' AS kind, '' AS topic, -1L AS partition, -1L AS offset, office AS text,
  '{}' AS details,
  to_json(struct(
    coalesce(max(to_ms - from_ms), 0D) AS ms, min(CASE WHEN to_ms IS NULL THEN from_ms END) AS since_ms
  )) AS numbers
FROM overlaps GROUP BY run, office
"""

_DOUBTS = """
SELECT run, '' AS check, 'doubt' AS kind, '' AS topic, -1L AS partition, -1L AS offset, text, '{{}}' AS details,
  '{{}}' AS numbers
FROM ({doubts})"""
