"""Implementations of the commands, one module per command; each returns its exit code.

A scenario: `scenarios`, `settings`, `run_scenario`, `run_simulated`, `sim`, `sweep`, `sweep_tables`, `campaign_playing`
(the runs of both), `advise`, `advise_cluster`, `advise_running`, `advice_report`, `plan_cluster`, `plan_roll`,
`plan_timeouts`, `plan_topologies`, `fuzz`, with `progress`, `progress_bar`, `replay_command`, `lasting_options`,
`spark_ahead` and `verdict_text`. A finished run, or one that is still written: `audit`, `follow_command`,
`compare_command`, `diff`, `diff_segments`, `import_command`, `incident_command`, `explain`, `explain_metadata`,
`explain_transactions`, `log_command`, `log_as_kafka`, `campaign_report`, `export_command`. A running cluster:
`live_up`, `live_page`, `live_attach`, `live_down`, `live_status`, `status_command`, `watch_keys`, `live_faults`,
`live_protocol_faults_command`, `live_clients`, `live_topics`, with `control_calls`. The machine: `doctor`. The audit:
`show_checks`, `spark_command`. Common to all: `command_errors` (exit codes of expected exceptions), `unusable` (tuples
of these), `place_arguments` (checks of output paths).
"""
