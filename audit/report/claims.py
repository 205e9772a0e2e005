"""Claims: statements of the verdict, each with its time and the events that support it.

A claim is a piece of a check's evidence, an expectation or a fault. Its events are those of the operations, the
offsets, the leaders and the rules that it names; of an expectation also the results (observations.json).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from audit.report.played import scenario_of
from audit.report.report_records import Event
from emulator.regular_files import read_regular
from emulator.run_layout import OBSERVATIONS_FILE
from emulator.runs.verdict_file import ExpectationVerdict, FaultVerdict
from protocol.events.event_parsing import TIME_MS_MAX
from protocol.events.record_values import values_in
from protocol.undecodable import UNDECODABLE

EVENTS_MAX = 12
"""Maximum of events of a claim; further ones are only counted."""
OF_OPERATIONS = frozenset(("operation_invoked", "attempt_sent", "operation_ended"))
OF_PARTITIONS = frozenset(("batch_appended", "log_truncated", "log_loaded", "role_changed", "high_watermark_moved"))
OF_RULES = frozenset(("fault_asked", "fault_in_force", "fault_healed", "fault_lasted", "fault_tried", "fault_traffic"))
OFFICES = frozenset(("role_changed", "controller_changed"))
NEAR_MS = 1.0

SAW = {
    "attempts": "attempt", "list_offsets": "list-offsets", "state": "partition-state",
    **{name: name for name in ("fetch", "consume", "commit", "committed", "workload", "metadata", "snapshot",
                               "controller", "partitions", "admin")},
}  # fmt: skip
"""{what an expectation is about: what an entry of observations.json is called}"""
DISTINGUISHING_KEYS = ("broker", "label", "group", "name", "partition", "verb", "topic")


class Claim(msgspec.Struct):
    """A claim.

    `partition`: as text, "" if none; `more`: count of further events; `check`: the check it is about.
    """

    at_ms: float | None = None
    partition: str = ""
    events: list[Event] = []
    more: int = 0
    check: str = ""


class Claims:
    """Claims of one run. `events`: in order of time; events without any reference are not kept."""

    def __init__(self, events: Iterable[Event] = (), run: Path | None = None) -> None:
        self._of_operation: dict[str, list[Event]] = defaultdict(list)
        self._of_value: dict[str, list[str]] = defaultdict(list)
        self._of_partition: dict[str, list[Event]] = defaultdict(list)
        self._of_rule: dict[str, list[Event]] = defaultdict(list)
        self._offices: list[Event] = []
        self.machine_faults: list[Event] = []
        for event in events:
            self._take(event)
        self._entries = _entries(run) if run else []
        self._expected = _expected(run) if run else {}

    def _take(self, event: Event) -> None:
        name = event["event"]
        if name in OF_OPERATIONS:
            self._of_operation[event["operation"]].append(event)
            if name == "operation_invoked" and event["kind"] == "produce":
                for value in values_in(event["value"], event.get("records", 1)):
                    self._of_value[value].append(event["operation"])
        elif name in OF_RULES:
            self._of_rule[event["rule"]].append(event)
        elif name == "machine_fault" and event["what"] != "start":
            self.machine_faults.append(event)
        if name in OF_PARTITIONS:
            self._of_partition[f"{event['topic']}-{event['partition']}"].append(event)
        if name in OFFICES:
            self._offices.append(event)

    def of_evidence(self, evidence: dict[str, Any]) -> Claim:
        partition = str(evidence.get("partition", ""))
        found: list[Event] = []
        for key in ("earlier", "operation"):
            found += self._of_operation.get(str(evidence.get(key)), [])
        begin, end = _number(evidence, "from_ms"), _number(evidence, "to_ms")
        if begin is not None:
            who = {str(evidence[key]) for key in ("stale", "newer", "node") if evidence.get(key) is not None}
            found += [
                event for event in self._offices
                if (not partition or event.get("topic") is None or _named(event) == partition)
                and begin - NEAR_MS <= event["at_ms"] <= (end if end is not None else TIME_MS_MAX) + NEAR_MS
                and (not who or event["node"] in who)
            ]  # fmt: skip
        offset, digest = evidence.get("offset"), evidence.get("digest")
        cuts: list[Event] = []
        if begin is None:
            for event in self._of_partition.get(partition, ()):
                if event["event"] == "batch_appended" and _holds(event, offset, digest):
                    found.append(event)
                elif event["event"] == "log_truncated" and event["effective"] and isinstance(offset, int) and (
                    event["to"] <= offset < event["log_end"]
                ):  # fmt: skip
                    cuts.append(event)
        at_ms = begin if begin is not None else _moment(evidence, found)
        return _claim(at_ms, partition, [*found, *cuts])

    def of_fault(self, fault: FaultVerdict) -> Claim:
        at_ms = fault.in_force_ms if fault.in_force_ms is not None else fault.requested_ms
        return _claim(at_ms, "", self._of_rule.get(fault.id, []))

    def of_expectation(self, expectation: ExpectationVerdict, checks: Iterable[str]) -> Claim:
        check = next((name for name in checks if expectation.text.startswith(f"{name} is violated")), "")
        of, what = self._expected.get(expectation.text, ("", {}))
        if of == "check":
            check = str(what.get("name", ""))
        if check:
            return Claim(check=check)
        if of == "attempts":
            return self._of_attempts(what)
        entries = [
            entry for entry in self._entries
            if _is_of(entry, of, what) and all(
                entry.get(key, what[key]) == what[key] for key in DISTINGUISHING_KEYS if key in what)
        ]  # fmt: skip
        nth = what.get("nth", len(entries))
        if not entries or not isinstance(nth, int) or not 1 <= nth <= len(entries):
            return Claim()
        event = _as_event(entries[nth - 1])
        return _claim(event["at_ms"], str(what.get("partition") or ""), [event])

    def _of_attempts(self, what: dict[str, Any]) -> Claim:
        found = [
            event
            for value in what.get("values", ())
            for operation in self._of_value.get(value, ())
            for event in self._of_operation[operation]
        ]
        at_ms = next((event["at_ms"] for event in found if event["event"] == "operation_ended"), None)
        partition = next((_named(event) for event in found if event["event"] == "operation_ended"), "")
        return _claim(at_ms, partition, found)


def _claim(at_ms: float | None, partition: str, events: Sequence[Event]) -> Claim:
    once = {(event["node"], event.get("incarnation"), event.get("seq")): event for event in events}
    ordered = sorted(once.values(), key=lambda event: event["at_ms"])
    return Claim(at_ms, partition, ordered[:EVENTS_MAX], max(0, len(ordered) - EVENTS_MAX))


def _is_of(entry: dict[str, Any], of: str, what: dict[str, Any]) -> bool:
    if of == "wait":
        return entry.get("saw") in ("reached", "not-reached") and entry.get("until") == what.get("called")
    return entry.get("saw") == SAW.get(of)


def _named(event: Event) -> str:
    return f"{event['topic']}-{event['partition']}"


def _holds(event: Event, offset: object, digest: object) -> bool:
    if digest is not None:
        return bool(event["digest"] == digest)
    return isinstance(offset, int) and bool(event["base_offset"] <= offset <= event["last_offset"])


def _moment(evidence: dict[str, Any], events: Sequence[Event]) -> float | None:
    times = [number for key in ("at_ms", "acknowledged_ms") if (number := _number(evidence, key)) is not None]
    if times:
        return times[0]
    ended = [event["at_ms"] for event in events if event["event"] == "operation_ended"]
    return max(ended, default=max((event["at_ms"] for event in events), default=None))


def _number(evidence: dict[str, Any], key: str) -> float | None:
    """A number of the evidence; own checks may put other values there."""
    value = evidence.get(key)
    return float(value) if isinstance(value, int | float) and abs(value) <= TIME_MS_MAX else None


def _as_event(entry: dict[str, Any]) -> Event:
    """An entry of observations.json as an event of the player."""
    about = {key: value for key, value in entry.items() if key not in ("t", "saw")}
    return {"at_ms": float(entry.get("t", 0.0)) * 1000, "node": "player", "event": f"saw {entry['saw']}", **about}


def _entries(run: Path) -> list[dict[str, Any]]:
    try:
        observations = msgspec.json.decode(read_regular(run / OBSERVATIONS_FILE))
    except (OSError, *UNDECODABLE):
        return []
    timeline = observations.get("timeline") if isinstance(observations, dict) else None
    entries = timeline if isinstance(timeline, list) else []
    return [one for one in entries if isinstance(one, dict) and "saw" in one and isinstance(one.get("t"), int | float)]


def _expected(run: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """{text of an expectation: (its subject, expected values)}; the last of two with one text."""
    scenario = scenario_of(run)
    return {one.text: (one.of, dict(one.what)) for one in scenario.expectations} if scenario else {}
