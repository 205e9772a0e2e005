"""Scenarios: what is done to a cluster, as typed steps, and what a person expects to see. Pure.

Reading order: `conditions` (what a wait waits for), `client_steps`, `faults` and `model` (steps, expectations, a
scenario); `document` (YAML with positions and the nearest valid word), `step_reader`, `waits`, `fault_verbs`,
`client_verbs`, `verbs` (the grammar of steps), `expectations` and `load` (a file to a scenario), `write` (and back);
`recorded_conditions`, `recording` and `recorded` (a recording's script as the same steps); `expect` (a run judged).
Kafka's settings, which a scenario may give, are in `emulator.settings`.
"""
