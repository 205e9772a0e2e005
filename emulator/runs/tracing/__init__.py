"""Traces of a run for OpenTelemetry: a span for each operation of a client.

Reading order: `trace_faults` (the run's faults in their order of time), `span_model` (spans and their ids),
`operation_spans` (one node's events to spans), `otlp_json` (spans as OTLP/JSON, piece by piece).
"""
