"""From a scenario to a run: find it, resolve it, play it in a world, write and read what it left.

Reading order: `sources`; settings: `settings_files`, `given`, `client_defaults`, `bounds`, `settings_sense`; `resolve`,
`starts`, `time_outs`, `observed`, `simulated`, `living`, `machines`, `network`, `directory`, `scratch`, `events`;
`cores` for many runs, `elsewhere` for those that others play. `verdict`: verdict.json, and how its parts compose. What
a run left is read by `finished` (which run, whose versions), `replicas`, `kafka_lines` and `kafka_log` (events as the
lines of Kafka's own logs). What it is worth is `emulator.judging`.
"""
