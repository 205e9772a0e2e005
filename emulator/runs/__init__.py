"""From a scenario to a run: find it, resolve it, play it in a world, write what it left, say what it is worth.

Reading order: `sources`; settings: `settings_files`, `given`, `client_defaults`, `bounds`, `settings_sense`; `resolve`,
`time_outs`, `observed`, `simulated`, `living`, `machines`, `network`, `layout`, `directory`, `events`; the verdict:
`measures`, `verdict`, `judged`, and `cores`, `seeds` for many runs. What a run left is read by `finished` (which run,
whose versions), `replicas` and `kafka_lines`.
"""
