"""`python -m benchmarks`: every line of the budget with its figure. Reading order: `figures` (what a figure is),
`ready`, `dual_leader`, `simulation`, `produce`, `door_throughput` (librdkafka), `audit_throughput` (`synthetic_run`
makes what it audits), `beside_duckdb` (the same by another engine), `many_runs`, `many_partitions`, `spike` (timer
lateness beside a starting Spark, with `dummies`).

Commands of their own. Seeds and worlds: `network_runs`, `seeds`, `catalogue_seeds`, `every_world`, `late_runs`,
`random_schedules`, `safe_fuzz`; `trace_digests` and `compiled` (is a trace the same after a change, or as native code).
Judges: `agreement` (audit and oracle, on the same runs), `mutants` (machines that are wrong), `mutants_seen`,
`judge_mutants`, `mutants_judged` (who catches them), `evidence` (runs whose events were changed: `changed_run`,
`changed_lines`, `changed_fields`, `changed_evidence`). Deaths: `kill_anywhere`, `killed_processes`. Settings:
`settings_for_promises`, `shipped_sweeps`. Kafka clients: `door_cuts`, `client_suites`. Hours: `soak`, `attack` (frames
that nobody should say).

`results` has what was measured last; in `left_in_peace.yaml` what died comes back, and nothing is done any more."""
