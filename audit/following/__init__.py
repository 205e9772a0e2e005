"""Live audit: follows a run while it is written, and prints provisional findings.

Reading order: `finding` (the difference between two looks), `event` (fields that are read of an event). Then the
watchers, all of them pure: `followed_commits` (controllers' late writes), `windows` (two nodes in one role),
`followed_logs` (contents of replicas' logs, and lost records), `followed_quorum` (leaders and committed batches of
KRaft's metadata log), `answers` (unanswered produces), `emulator.judging.standstills` (processes that did not run),
`followed` (all of them together, in the order of the run's clock). `tail` takes new lines from files that grow,
`stream` has Spark read them, `live_audit_output` prints findings, `follow_stream` repeats that until the run is over;
`command` is the function of the command line.

A finding may be withdrawn. At the end of a run the findings equal those of the audit of the whole run, for dual-leader,
dual-controller, lost-acknowledged, dual-quorum-leader, quorum-high-watermark and metadata-divergence:
tests/audit/following compares both.
"""
