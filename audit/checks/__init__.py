"""Checks: one anomaly each, defined in the module's docstring.

Reading order: `check` (what a check is), `log_evidence` (whether a log can be judged). Of clients: `lost_acknowledged`,
`duplicates`, `reordered`, `read_then_lost`, `phantom_read`, `read_above_high_watermark`, `read_gap`. Of replicas:
`replica_divergence`, `log_matching`, `dual_leader`, `dual_controller`, `high_watermark_regression`,
`high_watermark_above_log_end`, `leader_epoch_monotonicity`, `partition_state`. `registry` lists them; `own`: those
that are not ours.
"""
