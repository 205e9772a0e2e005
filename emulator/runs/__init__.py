"""Runs of scenarios: find, resolve and play a scenario, write and read the results.

Reading order: `sources`; settings: `settings_files`, `given`, `client_defaults`, `bounds`, `settings_sense`; `resolve`,
`starts`, `time_outs`, `observed`, `simulated`, `living`, `machines`, `network`, `directory`, `scratch`, `events`;
`cores` for many runs, `elsewhere` for runs in remote worker processes. `verdict`: verdict.json, and the rules that
compose its parts. Results of a run are read by `finished` (the run and its versions), `replicas`, `kafka_lines` and
`kafka_log` (events as the lines of Kafka's own logs). `emulator.judging` judges a run.
"""
