"""Traces of runs: spans of operations and attempts, valid by OTLP's own schema."""

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan

from emulator.cli.commands.export_command import export_command
from emulator.runs.run_events import in_order_of_time
from emulator.runs.tracing import operation_spans, span_model
from emulator.runs.tracing.operation_spans import OperationSpans, TooManyPending
from emulator.runs.tracing.otlp_json import otlp_json, span_fields
from emulator.runs.tracing.span_model import ERROR, OK, PRODUCER, Span, SpanEvent
from emulator.runs.tracing.trace_faults import TraceFaults
from tests.emulator.cluster.metrics.simulated_run import simulated

IDS = ("traceId", "spanId", "parentSpanId")


def parsed(text: str) -> ExportTraceServiceRequest:
    """The document by OTLP's schema.

    Ids are hex in OTLP/JSON, and base64 in protobuf's own JSON.
    """
    document = json.loads(text)
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in IDS:
                    if name in span:
                        span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    request = ExportTraceServiceRequest()
    Parse(json.dumps(document), request)
    return request


def spans_in(request: ExportTraceServiceRequest) -> dict[str, list[ProtoSpan]]:
    """{service: its spans}"""
    found: dict[str, list[ProtoSpan]] = {}
    for resource in request.resource_spans:
        service = {one.key: one.value.string_value for one in resource.resource.attributes}["service.name"]
        found[service] = [span for scope in resource.scope_spans for span in scope.spans]
    return found


def attributes_of(span: ProtoSpan) -> dict[str, Any]:
    return {one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in span.attributes}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated("az-isolated-leader", tmp_path_factory.mktemp("runs") / "run")


def test_a_run_is_a_valid_request_with_a_span_for_each_operation(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    assert export_command(run, otlp=True, out=out) == 0
    services = spans_in(parsed(out.read_text()))
    events = Counter(event["event"] for event in in_order_of_time(run, operation_spans.EVENTS))
    spans = services["observer"]
    roots = {span.span_id: span for span in spans if not span.parent_span_id}
    attempts = [span for span in spans if span.parent_span_id]
    assert len(roots) == events["operation_invoked"] and len(attempts) == events["attempt_sent"]
    for attempt in attempts:
        root = roots[attempt.parent_span_id]
        assert attempt.trace_id == root.trace_id and len(root.trace_id) == 16 and len(root.span_id) == 8
        assert root.start_time_unix_nano <= attempt.start_time_unix_nano <= attempt.end_time_unix_nano
        assert attempt.end_time_unix_nano <= root.end_time_unix_nano
    ids = [span.span_id for of_service in services.values() for span in of_service]
    assert len(ids) == len(set(ids))
    first = next(iter(roots.values()))
    assert (first.name, first.kind, first.status.code) == ("produce t", PRODUCER, OK)
    assert attributes_of(first) == {
        "messaging.system": "kafka", "messaging.operation.name": "produce", "messaging.operation.type": "send",
        "messaging.destination.name": "t", "messaging.destination.partition.id": "0", "messaging.kafka.offset": 0,
        "messaging.batch.message_count": 1, "faultline.operation": "observer.1:1", "faultline.acks": -1,
        "faultline.outcome": "ok", "faultline.attempts": 1,
    }  # fmt: skip
    under = [span for span in roots.values() if "faultline.faults_in_force" in attributes_of(span)]
    assert under and {attributes_of(span)["faultline.faults_in_force"] for span in under} == {"cut az-0"}
    (fault,) = services["faultline-faults"]
    assert fault.name == "fault cut az-0" and attributes_of(fault)["faultline.fault.healed"] is True


def test_the_same_run_has_the_same_trace(run: Path) -> None:
    assert "".join(otlp_json(run)) == "".join(otlp_json(run))


def event(name: str, at_ms: float, **fields: Any) -> dict[str, Any]:
    return {"event": name, "at_ms": at_ms, "operation": "c.1:1", **fields}


INVOKED = event(
    "operation_invoked", 10.0, kind="produce", topic="t", partition=-1, acks=1, value="a", broker=-1, offset=-1,
    client="app", records=2, transaction="x", isolation="",
)  # fmt: skip
FAULTS = TraceFaults(
    "run",
    [
        {"event": "fault_in_force", "at_ms": 5.0, "rule": "rule-1", "what": "cut az-0"},
        {"event": "machine_fault", "at_ms": 12.0, "what": "kill", "target": "broker-0"},
        {"event": "fault_healed", "at_ms": 30.0, "rule": "rule-1", "frames_stopped": 3},
    ],
)


def test_attempts_errors_and_faults_of_an_operation() -> None:
    spans = list(
        OperationSpans("run", FAULTS).of(
            [
                INVOKED,
                event("attempt_sent", 11.0, attempt=1, broker=0),
                event("attempt_ended", 20.0, attempt=1, error=-2, offset=-1, reason="connection lost"),
                event("attempt_sent", 21.0, attempt=2, broker=1),
                event("attempt_ended", 22.0, attempt=2, error=6, offset=-1, reason=""),
                event(
                    "operation_ended", 23.0, outcome="failed", error=6, partition=3, offset=-1, leader_epoch=-1,
                    attempts=2,
                ),
            ]
        )
    )  # fmt: skip
    lost, refused, whole = spans
    assert (lost.from_ms, lost.to_ms, lost.status, lost.message) == (11.0, 20.0, ERROR, "connection lost")
    assert lost.attributes["error.type"] == "NO_RESPONSE"
    assert (refused.message, refused.parent) == ("NOT_LEADER_OR_FOLLOWER", whole.span)
    assert (whole.status, whole.message) == (ERROR, "failed: NOT_LEADER_OR_FOLLOWER")
    assert whole.attributes["messaging.destination.partition.id"] == "3"
    assert whole.attributes["messaging.client.id"] == "app" and whole.attributes["faultline.transaction"] == "x"
    assert [one.name for one in whole.events] == ["kill broker-0"]
    assert whole.attributes["faultline.faults_in_force"] == "cut az-0"


def test_an_operation_without_an_end_and_one_without_a_beginning() -> None:
    sent = event("attempt_sent", 11.0, attempt=1, broker=0)
    other = event("attempt_ended", 40.0, attempt=1, error=0, offset=5, reason="") | {"operation": "c.1:9"}
    attempt, whole = OperationSpans("run", FAULTS).of([INVOKED, sent, other])
    assert (attempt.to_ms, whole.to_ms, whole.status) == (40.0, 40.0, ERROR)
    assert whole.attributes["faultline.outcome"] == "unfinished"


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    span = Span("0" * 32, "0" * 16, "", "s", 1, 0.0, 1.0, {})
    span.add_events([SpanEvent(0.0, "e", {})] * (span_model.SPAN_EVENTS_MAX + 5))
    assert (len(span.events), span.events_dropped) == (span_model.SPAN_EVENTS_MAX, 5)
    assert span_fields(span, 1_600_000_000_000.5)["startTimeUnixNano"] == "1600000000000500000"
    monkeypatch.setattr(operation_spans, "PENDING_MAX", 1)
    monkeypatch.setattr(operation_spans, "ATTEMPTS_MAX", 2)
    sent = [event("attempt_sent", 11.0, attempt=number, broker=0) for number in (1, 2, 3)]
    assert [one.name for one in OperationSpans("run", FAULTS).of([INVOKED, *sent])][:-1] == ["attempt 2", "attempt 3"]
    with pytest.raises(TooManyPending):
        list(OperationSpans("run", FAULTS).of([INVOKED, INVOKED | {"operation": "c.1:2"}]))
