"""Scenarios: what is done to a cluster, as typed steps, and what a person expects to see. Pure.

Reading order: `conditions` (what a wait waits for), `model` (steps, expectations, a scenario), `settings`
(Kafka's settings: the one place for their names, ranges and defaults), `document` (YAML with positions and
the nearest valid word), `verbs` and `load` (YAML to a scenario), `recording` and `recorded_conditions`
(the script of a recording as the same steps), `expect` (a run judged).
"""
