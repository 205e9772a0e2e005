"""Checks: one anomaly each, defined in the module's docstring.

Reading order: `check` (what a check is), `log_evidence` (whether a log can be judged), then `lost_acknowledged`,
`duplicates`, `replica_divergence`, `dual_leader`, `dual_controller`, `high_watermark_regression`,
`leader_epoch_monotonicity`; `registry` lists them, and those of `own`.
"""
