"""Explanation of violations: the rule of docs/semantics.md, and the event that caused each.

`explanation` has `explain(run, violation)`. Crash testing, fuzzing and advice use it; nothing here depends on them.

Reading order. Evidence: `run_history` (facts about the past), `history_builder` (builds them from events),
`recoveries` (contents of disks at deaths, and after), `replica_logs` (contents of replicas' logs over time),
`settled_state` (whether the cluster has settled), `kraft_settled` (in KRaft), `settled_partitions` (one partition),
`finished_run`, `unclean` (whether unclean election was on), `idempotence`. Violations: `broken_promises` (in logs,
terms and states), `sanity` (of every machine by itself), `metadata_log_checks` (of KRaft's metadata log),
`extra_invariants` (without trace in final logs). Rules: `loss_explanation` (the leader elected without a lost record,
and the event that removed the record there), `losses`, `divergence_explanation`, `promise_rules` (all of these),
`stopped` (a replica's fetcher), `controller_errors`, `stuck` (an unsettled cluster), `liveness_rules`,
`transaction_rules`. `reasons`: a violation's explanation as a sentence.
"""
