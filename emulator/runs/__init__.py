"""From a scenario to a run: find it, resolve it, play it in a world, write what it left, say what it is worth.

Reading order: `sources`, `time_outs`, `client_defaults`, `resolve`, `observed`, `simulated`, `living`, `machines`,
`network`, `layout`, `directory`, `events`, then the verdict: `measures`, `verdict`, `judged`, and `cores`, `seeds` for
many runs. What a run left is read by `finished` (which run, whose versions), `replicas` and `kafka_lines`.
"""
