"""Runs of scenarios: find, resolve and play a scenario, write and read the results.

Reading order: `scenario_sources`; settings: `settings_files`, `run_settings`, `client_defaults`, `run_limits`,
`settings_sense`; `metadata_mode` (ZooKeeper or KRaft); `resolve`, `resolve_named`, `starts`, `timeout_limits`,
`observed`, `simulated`, `deployment_options`, `engine_choice`, `network_run`, `directory`, `scratch`, `run_events`;
`cores` for many runs, `remote_worker` for runs in
remote worker processes. `verdict_file`: verdict.json, and the rules that compose its parts. Results of a run are read
by `finished` (the run and its versions), `replica_files`, `former_format` (events of an older format), `kafka_lines`
and `kafka_log` (events as the lines of Kafka's own logs). `importing`: real brokers' files
become a run. `tracing`: a run as OpenTelemetry traces.
`emulator.judging` judges a run.
"""
