"""Scenarios: a cluster's faults and uses, as typed steps, and the expected outcome. Pure.

Reading order: `conditions` (of waits), `client_steps`, `faults` and `model` (steps, expectations, a scenario);
`document` (YAML with positions and the nearest valid word), `step_reader`, `waits`, `fault_verbs`, `client_verbs`,
`group_verbs`, `topic_verbs`, `workload_verbs`, `verbs` (the grammar of steps), `standing` (validation against the state
of machines and topics), `expectations` and `load` (a file to a scenario), `places` (position of a step in it),
`parameters` (replacement of values), `write` (the inverse); `recorded_conditions`, `recording` and `recorded` (a
recording's script as the same steps); `player` (carries out the steps); `observations` (results, compared with real
Kafka's); `expect` (a run judged), `seen` (text of actual results), `missed_waits` (reasons for an unknown run). Kafka's
settings, which a scenario may contain, are in `emulator.settings`.
"""
