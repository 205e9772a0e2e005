"""Crash testing: kills and restarts a node of a catalogue scenario, and judges the run.

The node dies at a step, or between two storage operations. All faults are healed before the judgement.

Reading order: `plan` (victim and time of death, from a seed), `recoveries` (contents of disks at deaths, and after),
`attendant` (kills and restarts nodes), `play` (a simulated run with one death), `settled` (whether the cluster has
settled), `history` (facts about the past), `historian` (builds them from events), `promises` (broken promises),
`sanity` (of every machine by itself), `idempotence`, `stopped`, `unclean` (whether unclean election was on),
`replica_logs` (contents of replicas' logs over time), `fates` (explains a lost record: the leader elected without it,
and the event that removed it there). `losses`, `partings`, `rules` and `stuck` find the rule of docs/semantics.md that
allows a lost or duplicate record, a divergence, a stopped replica, an unsettled cluster. `judge`, `seeds` (many runs).
With real processes: `mortal`, `network`, `evidence`, `network_judge`.
`controller_errors`: partitions that do not settle because of an error of the active controller.
"""
