"""A node dies anywhere: a catalogue scenario in which one node is killed at a step, or between two storage operations,
and started again; then everything is mended, and judged.

Reading order: `plan` (who dies when, from a seed), `recoveries` (what disks held at deaths, and after), `attendant`
(kills, and starts what should be alive), `play` (a simulated run with one death), `settled` (what has not settled),
`history` (what is known of the past), `historian` (from events), `promises` (what was promised and is not so),
`sanity` (of every machine by itself), `idempotence`, `stopped`, `unclean` (whether unclean election was on),
`replica_logs` (what a replica held, and when), `fates` (which leader took office without a record, and what had taken
it from there), `losses`, `partings`, `rules` and `stuck` (which rule of docs/semantics.md allows it: that records are
gone, or twice there, that logs differ, that a replica stands still, that something does not settle), `judge`, `seeds`
(many of them). With real processes: `mortal`, `network`, `evidence`, `network_judge`.
`controller_errors`: partitions that do not settle because of an error of the controller in office.
"""
