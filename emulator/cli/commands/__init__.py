"""Implementations of the commands, one module per command; each returns its exit code.

A scenario: `scenarios`, `settings`, `run`, `run_simulated`, `sim`, `sweep`, `sweep_tables`, `advise`, `advise_running`,
`advise_told`, `fuzz`, with `progress`, `progress_bar`, `lasting`, `spark_ahead` and `verdict_text`. A finished or
growing run: `audit`, `follow`, `compare`, `diff`, `explain`, `log`, `log_as_kafka`, `campaign_report`. A running
cluster: `live_up`, `live_attach`, `live_down`, `live_status`, `status`, `watch_keys`, `live_faults`, `live_clients`,
`live_topics`, with `live_asking`. The machine: `doctor`. Common to all: `unusable` (exceptions that end with code 2),
`places` (checks of output paths).
"""
