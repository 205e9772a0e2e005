"""All checks on all runs as one Spark query with one small answer.

The answer's rows are (`run`, `check`, `kind`, ...):
- `violation`: the first EVIDENCE_MAX of each check and run, with `total` (how many there are) and `by_acks`;
- `missing`: places that cannot be judged, bounded likewise;
- `counts`: events of each name and node, with the first and last sequence number; broken lines by reason;
- `note`: events that tell about the run itself (faults, deaths, timers, steps), at most NOTES_MAX.

A check whose computation fails takes nobody along: the query is run again for each check alone, and the one that fails
says *unknown*, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from audit.checks.check import Check
from audit.events import PROBLEM, decoded_key, read_lines, run_key
from audit.facts import SMALL_MAX_BYTES, Facts, prepare
from audit.input import RunDirectory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVIDENCE_MAX = 20
NOTES_MAX = 5_000

NOTED = (
    *("node_started", "node_stopped", "timer_lateness", "machine_fault", "scenario_step"),
    *("fault_asked", "fault_in_force", "fault_healed", "fault_traffic"),
)


class Violation(msgspec.Struct, frozen=True):
    """One row of a check. `topic` "" and `partition` -1: of the whole run; `offset` -1: of none."""

    topic: str
    partition: int
    offset: int
    text: str
    details: dict[str, Any]


class Findings(msgspec.Struct):
    """What a check found in a run. `total`: all violations, of which `violations` are the first. `crashed`: why it
    could not be computed."""

    total: int = 0
    by_acks: dict[str, int] = {}
    violations: list[Violation] = []
    missing: list[str] = []
    missing_total: int = 0
    crashed: str | None = None


class EventCount(msgspec.Struct, frozen=True):
    """Lines of one kind: of events called `event` (or broken: `problem`) from one incarnation."""

    node: str | None
    incarnation: int | None
    event: str | None
    problem: str | None
    events: int
    first_seq: int | None
    last_seq: int | None
    last_ms: float | None
    acknowledged: int
    led: int


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One event about the run itself; the fields that its kind has not are None."""

    event: str
    node: str
    incarnation: int
    seq: int
    at_ms: float
    rule: str | None = None
    what: str | None = None
    target: str | None = None
    peer: str | None = None
    frames_stopped: int | None = None
    expects_traffic: bool | None = None
    code: int | None = None
    reason: str | None = None
    roles: str | None = None
    az: str | None = None
    text: str | None = None
    p999_ms: float | None = None
    max_ms: float | None = None
    topic: str | None = None
    partition: int | None = None
    leader_epoch: int | None = None


class Judged(msgspec.Struct):
    """One run as the query tells it. `findings`: {check: what it found}."""

    findings: dict[str, Findings]
    counts: list[EventCount]
    notes: list[Note]
    """In the order of the scenario's clock; a leader's `role_changed` only as far as there is room."""
    notes_total: int = 0
    """All of them, the roles left out."""
    unavailable_ms: dict[str, float] = {}
    """{client's node: how long its produces kept failing}."""


def judge(spark: SparkSession, runs: Sequence[RunDirectory], checks: Sequence[Check], scratch: str) -> list[Judged]:
    """Judge `runs`, in their order. `scratch`: a directory for what does not fit in memory."""
    small = sum(run.size_bytes for run in runs) <= SMALL_MAX_BYTES
    with _tuned(spark, small):
        facts = prepare(spark, runs, None if small else scratch)
        wire = _wire_view(spark, runs)
        about = [_COUNTS, _NOTES, _UNAVAILABLE, *([_WIRE_COUNTS] if wire else [])]
        crashed: dict[str, str] = {}
        try:
            rows = _collect(facts, [*([_bounded(checks)] if checks else []), *about])
        except PySparkException:
            rows = _collect(facts, about)
            for check in checks:
                try:
                    rows += _collect(facts, [_bounded([check])])
                except PySparkException as error:
                    crashed[check.name] = str(error).splitlines()[0]
        values = _values(facts, rows)
    keys = [run_key(run, runs) for run in runs]
    judged = {key: Judged({check.name: Findings() for check in checks}, [], []) for key in keys}
    for row in rows:
        _add(judged[decoded_key(row["run"])], row, values)
    for of_run in judged.values():
        of_run.notes.sort(key=lambda note: (note.at_ms, note.node, note.incarnation, note.seq))
        for name, reason in crashed.items():
            of_run.findings[name].crashed = reason
    return [judged[key] for key in keys]


_ACKS = {"all": "-1", "1": "1", "0": "0"}


def _rows_of(check: Check) -> str:
    rows = f"""
SELECT run, '{check.name}' AS check, 'violation' AS kind, topic, partition, offset, text, details
FROM ({check.violations})"""
    if check.evidence:
        rows += f"""
UNION ALL
SELECT run, '{check.name}', 'missing', topic, partition, -1L, text, '{{}}' FROM ({check.evidence})"""
    return rows


def _bounded(checks: Sequence[Check]) -> str:
    """The first rows of each run, check and kind, with their number; no violations at places that cannot be judged."""
    rows = "\nUNION ALL\n".join(map(_rows_of, checks))
    by_acks = ", ".join(
        f"count_if(get_json_object(details, '$.acks') = '{acks}') OVER kind AS acks_{name}"
        for name, acks in _ACKS.items()
    )
    numbers = ", ".join(("total", *(f"acks_{name}" for name in _ACKS)))
    return f"""
SELECT run, check, kind, topic, partition, offset, text, details, to_json(struct({numbers})) AS numbers
FROM (
  SELECT *, row_number() OVER (PARTITION BY run, check, kind ORDER BY topic, partition, offset, text) AS rank,
    count(*) OVER kind AS total, {by_acks}
  FROM (
    SELECT *, max(kind = 'missing') OVER (PARTITION BY run, check, topic, partition) AS unjudged
    -- every window below lies within (run, check): the rows move once
    FROM (SELECT /*+ REPARTITION(run, check) */ * FROM ({rows}))
  )
  WHERE kind = 'missing' OR NOT unjudged
  WINDOW kind AS (PARTITION BY run, check, kind)
)
WHERE rank <= {EVIDENCE_MAX}
"""


def _as_answer(kind: str, shape: type[msgspec.Struct], rows: str, numbers: str = "'{}'") -> str:
    fields = ", ".join(shape.__struct_fields__)
    return f"""
SELECT run, '' AS check, '{kind}' AS kind, '' AS topic, -1L AS partition, -1L AS offset, '' AS text,
  to_json(struct({fields})) AS details, {numbers} AS numbers
FROM ({rows})"""


_COUNTS = _as_answer(
    "counts",
    EventCount,
    f"""
  SELECT run, node, incarnation, event, {PROBLEM}, count(*) AS events, min(seq) AS first_seq, max(seq) AS last_seq,
    max(at_ms) AS last_ms, count_if(kind = 'produce' AND outcome = 'ok') AS acknowledged,
    count_if(coalesce(as_leader, leading)) AS led
  FROM lines GROUP BY run, node, incarnation, event, {PROBLEM}""",
)

_WIRE_COUNTS = _as_answer(
    "counts",
    EventCount,
    f"""
  SELECT run, node, incarnation, event, {PROBLEM}, count(*) AS events, min(seq) AS first_seq, max(seq) AS last_seq,
    max(at_ms) AS last_ms, 0L AS acknowledged, 0L AS led
  FROM wire_lines GROUP BY run, node, incarnation, event, {PROBLEM}""",
)

_NOTES = _as_answer(
    "note",
    Note,
    f"""
  SELECT * FROM (
    SELECT *,
      row_number() OVER (PARTITION BY run ORDER BY event = 'role_changed', at_ms, node, incarnation, seq) AS rank,
      count_if(event != 'role_changed') OVER (PARTITION BY run) AS total
    FROM rest
    WHERE event IN ({", ".join(repr(name) for name in NOTED)}) OR (event = 'role_changed' AND role = 'leader')
  )
  WHERE rank <= {NOTES_MAX}""",
    numbers="to_json(struct(total))",
)

# From a produce that failed until the same client's next one ended: as long as it knew nothing better.
_UNAVAILABLE = """
SELECT run, '' AS check, 'unavailable' AS kind, '' AS topic, -1L AS partition, -1L AS offset, node AS text,
  '{}' AS details,
  to_json(struct(sum(next_ms - at_ms) AS ms)) AS numbers
FROM (
  SELECT run, node, outcome, at_ms, lead(at_ms) OVER (PARTITION BY run, node ORDER BY incarnation, seq) AS next_ms
  FROM operations WHERE kind = 'produce'
)
WHERE outcome != 'ok' AND next_ms IS NOT NULL GROUP BY run, node
"""


def _wire_view(spark: SparkSession, runs: Sequence[RunDirectory]) -> bool:
    if not any(run.paths(wire=True) for run in runs):
        return False
    lines = read_lines(spark, runs, ("run", "node", "incarnation", "event", "seq", "at_ms"), wire=True)
    lines.createOrReplaceTempView("wire_lines")
    return True


def _collect(facts: Facts, parts: Sequence[str]) -> list[Mapping[str, Any]]:
    return [
        row.asDict() for row in facts.sql("\nUNION ALL\n".join(f"SELECT * FROM ({part})" for part in parts)).collect()
    ]


def _values(facts: Facts, rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """{(run, operation): the value it was to write} of the violations that name an operation."""
    violations = (msgspec.json.decode(row["details"]) for row in rows if row["kind"] == "violation")
    operations = sorted({details["operation"] for details in violations if "operation" in details})
    if not operations:
        return {}
    told = facts.spark.table("invocations").where(F.col("operation").isin(operations))
    return {(row["run"], row["operation"]): row["value"] for row in told.select("run", "operation", "value").collect()}


def _add(judged: Judged, row: Mapping[str, Any], values: Mapping[tuple[str, str], str]) -> None:
    details, numbers = row["details"], msgspec.json.decode(row["numbers"])
    match row["kind"]:
        case "counts":
            judged.counts.append(msgspec.json.decode(_with_nulls(details, EventCount), type=EventCount))
        case "note":
            judged.notes.append(msgspec.json.decode(details, type=Note))
            judged.notes_total = numbers["total"]
        case "unavailable":
            judged.unavailable_ms[row["text"]] = numbers["ms"]
        case "missing":
            findings = judged.findings[row["check"]]
            findings.missing.append(_at(row) + row["text"])
            findings.missing_total = numbers["total"]
        case "violation":
            findings = judged.findings[row["check"]]
            findings.total = numbers["total"]
            findings.by_acks = {name: numbers[f"acks_{name}"] for name in _ACKS if numbers[f"acks_{name}"]}
            told: dict[str, Any] = msgspec.json.decode(details)
            text: str = row["text"]
            if (value := values.get((row["run"], told.get("operation", "")))) is not None:
                told, text = {"value": value, **told}, f"{value!r} of {text}"
            findings.violations.append(Violation(row["topic"], row["partition"], row["offset"], text, told))
        case other:
            raise AssertionError(f"a row of kind {other!r}")


def _with_nulls(details: str, shape: type[msgspec.Struct]) -> bytes:
    """Spark leaves null fields out of JSON."""
    return msgspec.json.encode({**dict.fromkeys(shape.__struct_fields__), **msgspec.json.decode(details)})


def _at(row: Mapping[str, Any]) -> str:
    return f"{row['topic']}-{row['partition']}: " if row["topic"] else ""


@contextmanager
def _tuned(spark: SparkSession, small: bool) -> Iterator[None]:
    """Spark's settings for a small answer at once, or for a big one at full speed; restored afterwards."""
    cores = spark.sparkContext.defaultParallelism
    if small:
        # Interpreting some thousand rows is quicker than compiling classes for them; one partition needs no shuffle.
        wanted = {
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.join.preferSortMergeJoin": "false",
        }
    else:
        wanted = {
            "spark.sql.codegen.wholeStage": "true",
            "spark.sql.codegen.factoryMode": "FALLBACK",
            "spark.sql.adaptive.enabled": "true",
            "spark.sql.shuffle.partitions": str(2 * cores),
            "spark.sql.parquet.compression.codec": "lz4",
        }
    before: dict[str, str | None] = {key: spark.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)
