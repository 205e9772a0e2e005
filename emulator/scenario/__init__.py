"""Scenarios: a cluster's faults and uses, as typed steps, and the expected outcome. Pure.

Reading order. Model: `conditions` (conditions of waits), `client_steps`, `quorum_steps` (KRaft), `transaction_steps`
and `scenario_model` (steps, expectations, a scenario). Files: `document` (YAML with positions and the nearest valid
word), `target_reading`, `step_reader`, `waits`, `fault_verbs`, `client_verbs`, `group_verbs`, `topic_verbs`,
`workload_verbs`, `transaction_verbs`, `verbs` (the grammar of steps), `node_state_validation` (steps against the
state of nodes and topics), `topology_reading`, `expectations` and `load` (a file to a scenario), `yaml_places` (a
step's position in its file), `parameters` (other values at named places), `write` (a scenario as a file). Recordings:
`recorded_conditions`, `recorded_transactions`, `recording` and `recorded` (a recording's script as the same steps).
Runs: `player` (executes the steps), `observations` (results, compared with real Kafka's), `expect` (judges a run),
`expectation_text` (actual results as text), `missed_waits` (reasons for an unknown run). Kafka's settings are in
`emulator.settings`.
"""
