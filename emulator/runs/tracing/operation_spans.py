"""Spans of one node's operations, from its events in their order. Pure.

An operation is a span, and each of its attempts a span below it. Attributes have the names of OpenTelemetry's messaging
conventions where these have one. Memory holds the operations under way.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from emulator.runs.tracing.span_model import (
    CLIENT,
    CONSUMER,
    ERROR,
    OK,
    PRODUCER,
    Kind,
    Span,
    SpanEvent,
    Value,
    span_id,
    trace_id,
)
from emulator.runs.tracing.trace_faults import TraceFaults
from protocol.errors import error_name

Event = Mapping[str, Any]
EVENTS: Final = (
    "operation_invoked", "attempt_sent", "attempt_ended", "operation_ended", "records_read", "position_left",
)  # fmt: skip
"""Names of the events that are read."""
PENDING_MAX: Final = 100_000
"""Limit of the operations under way of one node."""
ATTEMPTS_MAX: Final = 1_000
"""Limit of an operation's attempts that become spans: the newest."""
NO_RESPONSE: Final = -2
KINDS: Final[dict[str, Kind]] = {"produce": PRODUCER, "fetch": CONSUMER}
SENT: Final = {"produce": "send", "fetch": "receive", "commit": "settle", "send-offset": "settle"}
"""{kind of an operation: `messaging.operation.type`}"""
UNFINISHED: Final = "unfinished"


class TooManyPending(ValueError):
    """More operations under way than an export holds."""


class _Pending(msgspec.Struct):
    """An operation under way, and its attempts, the last one open."""

    span: Span
    attempts: list[Span] = []
    open: bool = False
    records: int = 0


class OperationSpans:
    """Spans of the operations of one node of a run. `faults`: of the whole run."""

    def __init__(self, run: str, faults: TraceFaults) -> None:
        self._run = run
        self._faults = faults
        self._pending: dict[str, _Pending] = {}
        self._last_ms = 0.0

    def of(self, events: Iterable[Event]) -> Iterator[Span]:
        """The spans, each operation's at its end, behind its attempts. Raises TooManyPending."""
        for event in events:
            self._last_ms = max(self._last_ms, event["at_ms"])
            name, operation = event["event"], event["operation"]
            if name == "operation_invoked":
                self._begin(event)
                continue
            pending = self._pending.get(operation)
            if pending is None:
                continue  # its beginning is missing: a damaged line
            match name:
                case "attempt_sent":
                    self._attempt_sent(pending, event)
                case "attempt_ended":
                    _attempt_ended(pending, event)
                case "records_read":
                    _records_read(pending, event)
                case "position_left":
                    attributes = {"messaging.kafka.offset": event["offset"], "error.type": event["reason"]}
                    pending.span.add_events([SpanEvent(event["at_ms"], "position left", attributes)])
                case "operation_ended":
                    yield from self._ended(operation, event)
        for operation in list(self._pending):
            yield from self._unfinished(operation)

    def _begin(self, event: Event) -> None:
        if len(self._pending) == PENDING_MAX:
            raise TooManyPending(f"more than {PENDING_MAX} operations of one node are under way at once")
        operation, kind = event["operation"], event["kind"]
        attributes: dict[str, Value] = {
            "messaging.system": "kafka",
            "messaging.operation.name": kind,
            "faultline.operation": operation,
        }
        if kind in SENT:
            attributes["messaging.operation.type"] = SENT[kind]
        if event["topic"]:
            attributes["messaging.destination.name"] = event["topic"]
        if event["partition"] >= 0:
            attributes["messaging.destination.partition.id"] = str(event["partition"])
        if event["client"]:
            attributes["messaging.client.id"] = event["client"]
        if kind == "produce":
            attributes |= {"messaging.batch.message_count": event["records"], "faultline.acks": event["acks"]}
        elif event["offset"] >= 0:
            attributes["messaging.kafka.offset"] = event["offset"]
        if event.get("transaction"):
            attributes["faultline.transaction"] = event["transaction"]
        title = f"{kind} {event['topic']}".rstrip()
        self._pending[operation] = _Pending(
            Span(
                trace_id(self._run, operation), span_id(self._run, operation), "", title, KINDS.get(kind, CLIENT),
                event["at_ms"], event["at_ms"], attributes,
            )
        )  # fmt: skip

    def _attempt_sent(self, pending: _Pending, event: Event) -> None:
        name = f"{event['operation']}/{event['attempt']}"
        attributes: dict[str, Value] = {"faultline.attempt": event["attempt"], "faultline.broker": event["broker"]}
        at_ms = event["at_ms"]
        if pending.open:
            pending.attempts[-1].to_ms = at_ms
        pending.open = True
        if len(pending.attempts) == ATTEMPTS_MAX:
            del pending.attempts[0]
        pending.attempts.append(
            Span(
                pending.span.trace, span_id(self._run, name), pending.span.span, f"attempt {event['attempt']}", CLIENT,
                at_ms, at_ms, attributes,
            )
        )  # fmt: skip

    def _ended(self, operation: str, event: Event) -> Iterator[Span]:
        pending = self._pending[operation]
        span = pending.span
        span.attributes |= {"faultline.outcome": event["outcome"], "faultline.attempts": event.get("attempts", 0)}
        if event["partition"] >= 0:
            span.attributes["messaging.destination.partition.id"] = str(event["partition"])
        if event["offset"] >= 0:
            span.attributes["messaging.kafka.offset"] = event["offset"]
        if event["leader_epoch"] >= 0:
            span.attributes["faultline.leader_epoch"] = event["leader_epoch"]
        if event["outcome"] == "ok":
            span.status = OK
        else:
            span.status, span.message = ERROR, f"{event['outcome']}: {error_text(event['error'])}"
            span.attributes["error.type"] = error_text(event["error"])
        yield from self._closed(operation, event["at_ms"])

    def _unfinished(self, operation: str) -> Iterator[Span]:
        """The spans of an operation without an end: its process was killed, or the run ended."""
        span = self._pending[operation].span
        span.status, span.message = ERROR, "no event has its end"
        span.attributes["faultline.outcome"] = UNFINISHED
        yield from self._closed(operation, self._last_ms)

    def _closed(self, operation: str, at_ms: float) -> Iterator[Span]:
        pending = self._pending.pop(operation)
        span = pending.span
        span.to_ms = at_ms
        if pending.open:
            pending.attempts[-1].to_ms = at_ms
        if pending.records:
            span.attributes["messaging.batch.message_count"] = pending.records
        if under := self._faults.in_force(span.from_ms):
            span.attributes["faultline.faults_in_force"] = "; ".join(under)
        span.add_events(self._faults.between(span.from_ms, span.to_ms))
        span.events.sort(key=lambda one: one.at_ms)
        yield from pending.attempts
        yield span


def error_text(error: int) -> str:
    """Kafka's name of an error code, or that there was no response."""
    return "NO_RESPONSE" if error == NO_RESPONSE else error_name(error)


def _attempt_ended(pending: _Pending, event: Event) -> None:
    if not pending.open:
        return
    attempt, pending.open = pending.attempts[-1], False
    attempt.to_ms = event["at_ms"]
    if event["error"] == 0:
        attempt.status = OK
    else:
        attempt.status, attempt.message = ERROR, event["reason"] or error_text(event["error"])
        attempt.attributes["error.type"] = error_text(event["error"])
    if event["offset"] >= 0:
        attempt.attributes["messaging.kafka.offset"] = event["offset"]


def _records_read(pending: _Pending, event: Event) -> None:
    pending.records += event["last_offset"] - event["base_offset"] + 1
    attributes = pending.span.attributes
    attributes.setdefault("faultline.first_offset", event["base_offset"])
    attributes["faultline.last_offset"] = event["last_offset"]
    attributes["faultline.high_watermark"] = event["high_watermark"]
