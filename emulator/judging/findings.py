"""Findings: results of the audit's queries about a run, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from emulator.judging.measures import FailedWrites

ACKS = {"all": "-1", "1": "1", "0": "0"}
"""{acks as a verdict names it: its number}"""

ALLOWED = {
    **{"acks": "acks<=1", "unclean": "unclean.leader.election", "unflushed": "not flushed"},
    "sequence": "duplicate sequence",
}
"""{short name: what allows the loss of an acknowledged record, as verdicts name it}"""


SEQ_MODULUS = (1 << 31) - 1
"""A prime. Sums of event numbers are kept modulo it, so that no sum is too large."""


class Violation(msgspec.Struct, frozen=True):
    """One row of a check. `topic` "" and `partition` -1: the whole run; `offset` -1: no offset."""

    topic: str
    partition: int
    offset: int
    text: str
    details: dict[str, Any]


class Findings(msgspec.Struct):
    """Results of one check in one run.

    `total`: count of all violations, of which `violations` are the first. `by_acks`, `allowed`: counts by acks and by
    allowed loss. `counted`: size of the evidence, of a check that counts by a query. `crashed`: why the check failed.
    """

    total: int = 0
    by_acks: dict[str, int] = {}
    allowed: dict[str, int] = {}
    violations: list[Violation] = []
    missing: list[str] = []
    missing_total: int = 0
    counted: int = 0
    crashed: str | None = None


class EventCount(msgspec.Struct, frozen=True):
    """Count of one event type (or of broken lines: `problem`) of one incarnation.

    `seq_sum`, `seq_squares`: sums of event numbers, each modulo SEQ_MODULUS. Produces: `acknowledged` (with acks=all),
    `begun`, `ended`. Groups' offsets: `commits` and `looks` that got a response.
    """

    node: str | None
    incarnation: int | None
    event: str | None
    problem: str | None
    events: int
    first_seq: int | None
    last_seq: int | None
    first_ms: float | None
    last_ms: float | None
    seq_sum: int | None
    seq_squares: int | None
    acknowledged: int
    led: int
    acknowledged_by_all: int = 0
    begun: int = 0
    ended: int = 0
    commits: int = 0
    looks: int = 0


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One event about the run itself; fields of other kinds are None.

    The last lateness report of an incarnation has `max_ms` and `buckets` of all its reports. `report_max_ms` and
    `report_p50_ms` are of one report, and only a run's worst reports have them.
    """

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
    buckets: str | None = None
    report_max_ms: float | None = None
    report_p50_ms: float | None = None
    settings: str | None = None
    kafka_version: str | None = None
    topic: str | None = None
    partition: int | None = None
    leader_epoch: int | None = None
    life: int | None = None


class Judged(msgspec.Struct):
    """All results of the query about one run. `findings`: {check: its findings}."""

    findings: dict[str, Findings]
    counts: list[EventCount]
    notes: list[Note]
    """In the order of the scenario's clock; a leader's `role_changed` only up to a limit."""
    notes_total: int = 0
    """Count of all notes, without the roles."""
    doubts: list[str] = []
    """Reasons why events may have been changed after they were written."""
    writes: FailedWrites = msgspec.field(default_factory=FailedWrites)
    """Of the clients with a failed produce."""
    unknown_outcomes: dict[str, int] = {}
    """Produces of unknown outcome: `in_log`, `not_in_log` of the final leader, `open` (unknown)."""
    two_at_once_ms: dict[str, float] = {}
    """{leader or controller: longest time during which two nodes held that role, if it ended}"""
    two_since_ms: dict[str, float] = {}
    """{leader or controller: since when two nodes hold it}, if it lasts to the run's end"""


def add_row(judged: Judged, row: Mapping[str, Any], values: Mapping[tuple[str, str], Sequence[str]]) -> None:
    """Add one row of the query's result (`audit.questions`).

    `values`: {(run, operation): values of its records}.
    """
    details, numbers = row["details"], msgspec.json.decode(row["numbers"])
    match row["kind"]:
        case "counts":
            judged.counts.append(msgspec.json.decode(_with_nulls(details, EventCount), type=EventCount))
        case "note":
            judged.notes.append(msgspec.json.decode(details, type=Note))
            judged.notes_total = numbers["total"]
        case "doubt":
            judged.doubts.append(row["text"])
        case "unavailable":
            judged.writes.unavailable_ms[row["text"]] = numbers["ms"]
            if "since_ms" in numbers:
                judged.writes.failing_since_ms[row["text"]] = numbers["since_ms"]
            if "again_ms" in numbers:
                judged.writes.again_ms[row["text"]] = numbers["again_ms"]
        case "unknown-outcomes":
            judged.unknown_outcomes = numbers
        case "two-at-once":
            judged.two_at_once_ms[row["text"]] = numbers["ms"]
            if "since_ms" in numbers:
                judged.two_since_ms[row["text"]] = numbers["since_ms"]
        case "missing":
            findings = judged.findings[row["check"]]
            findings.missing.append(_at(row) + row["text"])
            findings.missing_total = numbers["total"]
        case "counted":
            judged.findings[row["check"]].counted = numbers["total"]
        case "violation":
            findings = judged.findings[row["check"]]
            findings.total = numbers["total"]
            findings.by_acks = {name: numbers[f"acks_{name}"] for name in ACKS if numbers[f"acks_{name}"]}
            findings.allowed = {
                rule: numbers[f"allowed_{name}"] for name, rule in ALLOWED.items() if numbers[f"allowed_{name}"]
            }
            shown: dict[str, Any] = msgspec.json.decode(details)
            text: str = row["text"]
            shown, text = _with_value(shown, text, values.get((row["run"], shown.get("operation", "")), ()))
            findings.violations.append(Violation(row["topic"], row["partition"], row["offset"], text, shown))
        case other:
            raise AssertionError(f"a row of kind {other!r}")


def _with_value(shown: dict[str, Any], text: str, values: Sequence[str]) -> tuple[dict[str, Any], str]:
    """A violation's details and text with the value of its record, or else the record's number.

    An operation that is not a produce has no values.
    """
    record = shown.pop("record", 0)
    value = values[record] if record < len(values) else ""
    if len(values) > 1:
        shown = {"record": record, **shown}
    if value:
        return {"value": value, **shown}, f"{value!r} of {text}"
    return shown, f"record {record} of {text}" if len(values) > 1 else text


def _with_nulls(details: str, shape: type[msgspec.Struct]) -> bytes:
    """JSON with explicit nulls; Spark leaves null fields out."""
    return msgspec.json.encode({**dict.fromkeys(shape.__struct_fields__), **msgspec.json.decode(details)})


def _at(row: Mapping[str, Any]) -> str:
    return f"{row['topic']}-{row['partition']}: " if row["topic"] else ""
