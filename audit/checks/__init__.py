"""Checks: one anomaly each, defined in the module's docstring.

Reading order: `check` (the type of a check), `log_evidence` (whether a log can be judged). Clients:
`lost_acknowledged`, `duplicates`, `reordered`, `acknowledged_below_min_insync`, `read_then_lost`, `phantom_read`,
`read_above_high_watermark`, `read_gap`, `non_monotonic_read`, `skipped_read`, `unseen_records`, `inconsistent_offsets`,
`offset_out_of_range`, `group_ahead_of_log`, `committed_offset_regression`. Replicas:
`replica_divergence`, `log_matching`, `dual_leader`, `dual_controller`, `high_watermark_regression`,
`high_watermark_above_log_end`, `leader_epoch_monotonicity`, `partition_state`, `fenced_leader_change`,
`committed_truncated`, `epoch_cache`, `checkpoint_ahead`. Liveness: `no_leader`, `under_replicated`,
`unanswered_request`, `too_few_copies`.
`check_registry` lists them; `own` loads checks of other authors.
"""
