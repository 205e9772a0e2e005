"""`python -m benchmarks`: every line of the budget with its figure.

Reading order: `figure_records` (a figure), `ready`, `dual_leader_speed`, `simulation`, `produce`, `door_throughput`
(librdkafka), `audit_throughput` (`synthetic_run` makes its input), `beside_duckdb` (the same in another engine),
`many_runs`, `many_partitions`, `spike` (timer lateness beside a starting Spark, with `dummies`).

Commands of their own. Seeds and worlds: `network_runs`, `seeds`, `catalogue_seeds`, `every_world`, `late_runs`,
`random_schedules`, `safe_fuzz`; `trace_digests` and `compiled` (equality of traces after a change, or as native code).
Judges: `agreement` (audit and oracle, on the same runs), `mutants` (wrong machines), `mutants_seen`, `judge_mutants`,
`mutants_judged` (which judge detects them), `evidence` (runs with changed events: `changed_run`, `changed_lines`,
`changed_fields`, `changed_evidence`). Deaths: `kill_anywhere`, `killed_processes`. Settings: `settings_for_promises`,
`shipped_sweeps`. Kafka clients: `door_cuts`, `client_suites`. Hours: `soak`, `attack` (invalid frames).

`results` has the last measurements; `left_in_peace.yaml` is a scenario with a quiescent end, in which dead nodes
return.
"""
