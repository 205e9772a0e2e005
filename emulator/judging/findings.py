"""Findings: what Spark answers about a run, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

ACKS = {"all": "-1", "1": "1", "0": "0"}
"""{how verdicts name an acks setting: its number}"""

ALLOWED = {
    **{"acks": "acks<=1", "unclean": "unclean.leader.election", "unflushed": "not flushed"},
    "sequence": "duplicate sequence",
}
"""{a short name: what allows the loss of an acknowledged record, as verdicts say it}"""


SEQ_MODULUS = (1 << 31) - 1
"""A prime: numbers are added up as what is left of them, so that nobody's can be too large."""


class Violation(msgspec.Struct, frozen=True):
    """One row of a check. `topic` "" and `partition` -1: of the whole run; `offset` -1: of none."""

    topic: str
    partition: int
    offset: int
    text: str
    details: dict[str, Any]


class Findings(msgspec.Struct):
    """What a check found in a run. `total`: all violations, of which `violations` are the first; `by_acks`, `allowed`:
    how many of each. `counted`: how much there was to judge, of a check that counts by a query. `crashed`: why it could
    not be computed."""

    total: int = 0
    by_acks: dict[str, int] = {}
    allowed: dict[str, int] = {}
    violations: list[Violation] = []
    missing: list[str] = []
    missing_total: int = 0
    counted: int = 0
    crashed: str | None = None


class EventCount(msgspec.Struct, frozen=True):
    """Lines of one kind: of events called `event` (or broken: `problem`) from one incarnation. `seq_sum`,
    `seq_squares`: of their numbers, each modulo SEQ_MODULUS. Of produces: how many were `acknowledged` (with acks=all),
    `begun`, `ended`; of groups' offsets: `commits` and `looks` that were answered."""

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
    """One event about the run itself; the fields that its kind has not are None. Of an incarnation's reports of
    lateness the last has `max_ms` and `buckets` of all; `report_max_ms` and `report_p50_ms` are of one report, and only
    a run's worst reports have them."""

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
    """One run as the query tells it. `findings`: {check: what it found}."""

    findings: dict[str, Findings]
    counts: list[EventCount]
    notes: list[Note]
    """In the order of the scenario's clock; a leader's `role_changed` only as far as there is room."""
    notes_total: int = 0
    """All of them, the roles left out."""
    doubts: list[str] = []
    """Why events cannot all be as they were written."""
    unavailable_ms: dict[str, float] = {}
    """{client's node: how long its produces kept failing, until the last of them ended}."""
    failing_since_ms: dict[str, float] = {}
    """{client's node: when its last produce ended}, of those that failed in it."""
    again_ms: dict[str, float] = {}
    """{client's node: when the produce ended that came after its last one that failed}."""
    unknown_outcomes: dict[str, int] = {}
    """Of produces that ended so: `in_log`, `not_in_log` of the final leader, `open` where that is not told."""
    two_at_once_ms: dict[str, float] = {}
    """{leader or controller: the longest time for which two were in that office, until it was over}"""
    two_since_ms: dict[str, float] = {}
    """{leader or controller: since when two are}, of those where it lasts to the run's end."""


def add_row(judged: Judged, row: Mapping[str, Any], values: Mapping[tuple[str, str], Sequence[str]]) -> None:
    """Put one row of the answer (`audit.questions`) where it belongs. `values`: {(run, operation): the values of its
    records}."""
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
            judged.unavailable_ms[row["text"]] = numbers["ms"]
            if "since_ms" in numbers:
                judged.failing_since_ms[row["text"]] = numbers["since_ms"]
            if "again_ms" in numbers:
                judged.again_ms[row["text"]] = numbers["again_ms"]
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
            told: dict[str, Any] = msgspec.json.decode(details)
            text: str = row["text"]
            told, text = _with_value(told, text, values.get((row["run"], told.get("operation", "")), ()))
            findings.violations.append(Violation(row["topic"], row["partition"], row["offset"], text, told))
        case other:
            raise AssertionError(f"a row of kind {other!r}")


def _with_value(told: dict[str, Any], text: str, values: Sequence[str]) -> tuple[dict[str, Any], str]:
    """A violation's details and text with the value of its record, or, where none is known, which of several it is.
    Operations that are no produce write nothing."""
    record = told.pop("record", 0)
    value = values[record] if record < len(values) else ""
    if len(values) > 1:
        told = {"record": record, **told}
    if value:
        return {"value": value, **told}, f"{value!r} of {text}"
    return told, f"record {record} of {text}" if len(values) > 1 else text


def _with_nulls(details: str, shape: type[msgspec.Struct]) -> bytes:
    """Spark leaves null fields out of JSON."""
    return msgspec.json.encode({**dict.fromkeys(shape.__struct_fields__), **msgspec.json.decode(details)})


def _at(row: Mapping[str, Any]) -> str:
    return f"{row['topic']}-{row['partition']}: " if row["topic"] else ""
