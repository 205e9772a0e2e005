"""Crash testing: kills and restarts a node of a catalogue scenario, and judges the run.

The node dies at a step, or between two storage operations. All faults are healed before the judgement.

Reading order: `crash_plan` (victim and time of death, from a seed), `recoveries` (contents of disks at deaths, and
after), `crash_driver` (kills and restarts nodes), `crash_run` (a simulated run with one death), `settled_state`
(whether the cluster has settled), `run_history` (facts about the past), `history_builder` (builds them from events),
`crash_promises` (broken promises), `sanity` (of every machine by itself), `idempotence`, `stopped`, `unclean` (whether
unclean election was on), `replica_logs` (contents of replicas' logs over time), `loss_explanation` (explains a lost
record: the leader elected without it, and the event that removed it there). `losses`, `divergence_explanation`,
`crash_rules` and `stuck` find the rule of docs/semantics.md that allows a lost or duplicate record, a divergence, a
stopped replica, an unsettled cluster. `crash_judge`, `crash_seeds` (many runs). With real processes: `crash_process`,
`crash_network`, `crash_evidence`, `network_judge`. `controller_errors`: partitions that do not settle because of an
error of the active controller.
"""
