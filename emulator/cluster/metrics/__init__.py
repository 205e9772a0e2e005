"""Metrics for Prometheus: Kafka's own, by the JMX exporter's names, and the emulator's.

Reading order: `metric_table` (names, types and help of all metrics), `status_samples` (samples of a cluster's status),
`exposition` (samples as text), `event_fold` (a run's events to the status at any time), `replica_fold` (the replicas
and figures of one node among them), `rule_texts` (the faults on links among them), `run_series` (the samples of a run,
at intervals).
"""
