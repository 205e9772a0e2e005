"""Scenarios: a cluster's faults and uses, as typed steps, and the expected outcome. Pure.

Reading order: `conditions` (what a wait waits for), `client_steps` and `scenario_model` (steps,
expectations, a scenario); `document` (YAML with positions and the nearest valid word), `target_reading`, `step_reader`,
`waits`, `fault_verbs`, `client_verbs`, `group_verbs`, `topic_verbs`, `workload_verbs`, `verbs` (the grammar of steps),
`node_state_validation` (what they say of machines and topics), `expectations` and `load` (a file to a scenario),
`yaml_places` (where in it a step stands), `parameters` (other values in their places), `write` (and back);
`recorded_conditions`, `recording` and `recorded` (a recording's script as the same steps); `player` (does the steps);
`observations` (what came back, and whether real Kafka did the same); `expect` (a run judged), `expectation_text` (what
was there instead, in words), `missed_waits` (after which a run is unknown). Kafka's settings, which a scenario may
give, are in `emulator.settings`.
"""
