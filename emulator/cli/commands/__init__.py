"""What the command line does, one module per command; each returns its exit code.

A scenario: `scenarios`, `settings`, `run`, `run_simulated`, `sim`, `sweep`, `sweep_tables`, `advise`,
`advise_running`, `advise_told`, `fuzz`, with `progress`, `progress_bar`, `lasting`, `spark_ahead` and `verdict_text`.
What a run left, or is writing: `audit`, `follow`, `compare`, `diff`, `explain`, `log`, `log_as_kafka`,
`campaign_report`. A cluster that stays: `live_up`, `live_attach`, `live_down`, `live_status`, `status`, `watch_keys`,
`live_faults`, `live_clients`, `live_topics`, with `live_asking`. The machine: `doctor`. Common to all: `unusable`
(what ends with code 2), `places` (where is written to).
"""
