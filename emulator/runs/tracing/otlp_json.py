"""Spans of a run as OTLP/JSON: one ExportTraceServiceRequest, written piece by piece.

Ids are in hex, 64-bit numbers are texts, and enumerations are numbers, as the specification of OTLP/JSON requires.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.packaged import installed_version
from emulator.runs.run_events import event_files, events_in, in_order_of_time, incarnation_of
from emulator.runs.tracing import operation_spans, trace_faults
from emulator.runs.tracing.operation_spans import OperationSpans
from emulator.runs.tracing.span_model import Span, SpanEvent, Value
from emulator.runs.tracing.trace_faults import TraceFaults
from emulator.topology import INJECTOR

SCOPE: Final = "faultline"
FAULTS: Final = "faultline-faults"
"""Name of the service whose spans are faults."""
_encode = msgspec.json.Encoder().encode


def otlp_json(run: Path) -> Iterator[str]:
    """The document. Memory holds the faults and one node's operations under way.

    Raises NoEvents, TooManyFaults, TooManyPending.
    """
    start_ms, name = _start_of(run)
    faults = TraceFaults(name, in_order_of_time(run, trace_faults.EVENTS))
    resources = chain(_of_nodes(run, name, faults), [(_resource(FAULTS, name), faults.spans())])
    yield '{"resourceSpans":['
    separator = ""
    for resource, spans in resources:
        first = next(spans, None)
        if first is None:
            continue
        scope = _text({"name": SCOPE, "version": installed_version()})
        yield f'{separator}{{"resource":{_text(resource)},"scopeSpans":[{{"scope":{scope},"spans":[\n'
        yield _text(span_fields(first, start_ms))
        for span in spans:
            yield ",\n" + _text(span_fields(span, start_ms))
        yield "]}]}"
        separator = ","
    yield "]}\n"


def _start_of(run: Path) -> tuple[float, str]:
    """Wall clock at scenario time 0, and the run's name. Raises NoEvents."""
    for event in in_order_of_time(run, ("node_started",)):
        return event["wall_ms"] - event["at_ms"], event["run"]
    return 0.0, run.name


def _of_nodes(run: Path, name: str, faults: TraceFaults) -> Iterator[tuple[dict[str, Any], Iterator[Span]]]:
    files: dict[str, list[Path]] = {}
    for path in event_files(run):
        files.setdefault(path.name.partition(".")[0], []).append(path)
    for node, paths in sorted(files.items()):
        if node != INJECTOR:
            yield _resource(node, name, _az_of(paths[0])), _spans_of(name, faults, paths)


def _spans_of(name: str, faults: TraceFaults, paths: list[Path]) -> Iterator[Span]:
    for path in sorted(paths, key=incarnation_of):
        yield from OperationSpans(name, faults).of(events_in(path, operation_spans.EVENTS))


def _az_of(path: Path) -> str:
    for event in events_in(path, ("node_started",)):
        return str(event["az"])
    return ""


def _resource(service: str, run: str, az: str = "") -> dict[str, Any]:
    attributes = {"service.name": service, "service.namespace": run}
    return {"attributes": _attributes(attributes | ({"cloud.availability_zone": az} if az else {}))}


def span_fields(span: Span, start_ms: float) -> dict[str, Any]:
    """A span as OTLP/JSON has it."""
    fields: dict[str, Any] = {"traceId": span.trace, "spanId": span.span}
    if span.parent:
        fields["parentSpanId"] = span.parent
    fields |= {
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": _nanos(start_ms, span.from_ms),
        "endTimeUnixNano": _nanos(start_ms, span.to_ms),
        "attributes": _attributes(span.attributes),
        "events": [_event(event, start_ms) for event in span.events],
        "droppedEventsCount": span.events_dropped,
        "status": {"code": span.status} | ({"message": span.message} if span.message else {}),
    }
    return fields


def _event(event: SpanEvent, start_ms: float) -> dict[str, Any]:
    at = _nanos(start_ms, event.at_ms)
    return {"timeUnixNano": at, "name": event.name, "attributes": _attributes(event.attributes)}


def _attributes(values: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
    return {"stringValue": value}


def _nanos(start_ms: float, at_ms: float) -> str:
    """Nanoseconds since 1970, without the rounding of a float of that size."""
    whole_ms = round(start_ms)
    return str(whole_ms * 1_000_000 + round((start_ms - whole_ms + at_ms) * 1_000_000))


def _text(value: Any) -> str:
    return _encode(value).decode()
