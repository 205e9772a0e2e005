"""`python -m benchmarks`: every line of the budget with its figure.

Reading order: `figure_records` (a figure), `ready`, `dual_leader_speed`, `simulation`, `produce`, `listener_throughput`
(librdkafka), `audit_throughput` (`synthetic_run` makes its input), `beside_duckdb` (the same in another engine),
`many_runs`, `data_source_throughput`, `many_partitions`, `spike` (timer lateness beside a starting Spark, with
`dummies`). `oracle_growth` judges runs of growing length (`large_truth`).

They measure speed; `verification` has the campaigns that test rightness. `results` has the last measurements.
"""
