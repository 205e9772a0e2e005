"""Pre-tests: whether a part of the audit may have a row in a small run, without Spark.

A check of a run in which nothing can be violated has no row, and Spark takes a tenth of a second to plan its query.
So each part has a *pre-test*: a condition on the run's events that holds wherever the part has a row. It may hold where
the part has none; then Spark is asked in vain. Where it does not hold, the part is left out. A pre-test judges nothing,
and a part without one is always asked.

Reading order: `pretested_run` (a run's events and logs), `pretest_registry`, then the pre-tests: `record_pretests`
(clients), `replica_pretests`, `leadership_pretests`, `liveness_pretests`, `transaction_pretests`, `evidence_pretests`
(contradictory events); `part_pretests` applies them.
"""
