"""`python -m benchmarks`: every line of the budget with its figure. Reading order: `figures` (what a figure is),
`ready`, `dual_leader`, `simulation`, `produce`, `door_throughput` (librdkafka), `audit_throughput`, `spike` (timer
lateness beside a starting Spark); commands of their own: `network_runs`, `seeds`, `catalogue_seeds`, `compiled` (native
machines beside their sources), `random_schedules`, `safe_fuzz`, `agreement` (audit and oracle, on the same runs),
`evidence` (runs whose events were changed: `changed_run`, `changed_lines`, `changed_fields`, `changed_evidence`)."""
