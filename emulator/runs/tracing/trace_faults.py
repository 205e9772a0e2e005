"""Faults of a run: events of the spans that they fall into, and spans of their own. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from emulator.runs.tracing.span_model import INTERNAL, Span, SpanEvent, span_id, trace_id

EVENTS: Final = ("fault_asked", "fault_in_force", "fault_healed", "machine_fault", "hardware_changed")
"""Names of the events that are read."""
FAULTS_MAX: Final = 100_000
HEAL: Final = "heal"


class TooManyFaults(ValueError):
    """More faults than an export holds."""


class _Rule(msgspec.Struct):
    """One fault on links. In force from its first node to its last."""

    what: str
    from_ms: float
    to_ms: float | None = None
    frames_stopped: int = 0


class TraceFaults:
    """All faults of a run. `events` come in their order of time. Raises TooManyFaults."""

    def __init__(self, run: str, events: Iterable[Mapping[str, Any]]) -> None:
        self._run = run
        self._rules: dict[str, _Rule] = {}
        self._happened: list[SpanEvent] = []
        self._last_ms = 0.0
        for event in events:
            self._add(event)
        self._happened.sort(key=lambda one: one.at_ms)
        self._times = [one.at_ms for one in self._happened]

    def _add(self, event: Mapping[str, Any]) -> None:
        at_ms = event["at_ms"]
        self._last_ms = max(self._last_ms, at_ms)
        match event["event"]:
            case "fault_in_force" if event["rule"] not in self._rules:
                self._rules[event["rule"]] = _Rule(event["what"], at_ms)
                self._note(at_ms, f"fault in force: {event['what']}", {"faultline.fault.id": event["rule"]})
            case "fault_healed" if event["rule"] in self._rules:
                rule = self._rules[event["rule"]]
                if rule.to_ms is None:
                    self._note(at_ms, f"fault healed: {rule.what}", {"faultline.fault.id": event["rule"]})
                rule.to_ms = at_ms
                rule.frames_stopped += event["frames_stopped"]
            case "machine_fault":
                self._note(at_ms, f"{event['what']} {event['target']}", {"faultline.fault.target": event["target"]})
            case "hardware_changed":
                self._note(at_ms, f"hardware of {event['target']} changed", {"faultline.fault.target": event["target"]})

    def _note(self, at_ms: float, name: str, attributes: dict[str, str]) -> None:
        if len(self._happened) == FAULTS_MAX:
            raise TooManyFaults(f"more than {FAULTS_MAX} faults in one run")
        self._happened.append(SpanEvent(at_ms, name, attributes))

    def between(self, from_ms: float, to_ms: float) -> list[SpanEvent]:
        """Faults that began or ended in this time."""
        return self._happened[bisect_left(self._times, from_ms) : bisect_right(self._times, to_ms)]

    def in_force(self, at_ms: float) -> list[str]:
        """Texts of the faults on links in force at this time."""
        return [
            rule.what
            for rule in self._rules.values()
            if rule.from_ms <= at_ms and (rule.to_ms is None or at_ms < rule.to_ms)
        ]

    def spans(self) -> Iterator[Span]:
        """A span for each fault on links, until its heal, else the last fault's event."""
        for rule_id, rule in self._rules.items():
            name = f"fault {rule_id}"
            yield Span(
                trace_id(self._run, name), span_id(self._run, name), "", f"fault {rule.what}", INTERNAL,
                rule.from_ms, self._last_ms if rule.to_ms is None else rule.to_ms,
                {
                    "faultline.fault.id": rule_id, "faultline.fault.healed": rule.to_ms is not None,
                    "faultline.fault.frames_stopped": rule.frames_stopped,
                },
            )  # fmt: skip
