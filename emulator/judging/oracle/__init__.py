"""The oracle: judges a simulated run by the world's true state, never by its events.

The oracle stands beside the audit and shares no code with its checks: two implementations of the same anomalies verify
each other. It is fast enough to judge thousands of runs.

Reading order: `probe` inspects machines while the world runs and records facts in `poll_state`. The facts are
`controller_terms` (leaders and controllers over time), `log_extent` (contents of logs), `checkpoint_state` (replicas'
knowledge of their logs), `leader_view` (leaders' views of their ISRs) and `committed_records` (ZooKeeper's committed
states). Of KRaft there are `quorum_view` (nodes' views of the quorum) and `committed_metadata` (states that the quorum
commits). `partition_incarnations` maps operations to incarnations of topics. `transaction_facts` has the structs about
transactions, `truth` those of all other facts, final logs and operations; `quiescence` finds the quiescent period;
`gathering` builds the truth. `anomalies` lists one function per check (`oracle_check`). The functions are in
`promise_registry`, `record_promises`, `read_promises`, `group_promises`, `leadership_promises`, `quorum_promises`,
`replica_promises`, `transaction_promises`, `transaction_dependencies` and `liveness`; they read `final_logs` and
`hidden_records`. `judge` makes the verdicts of verdict.json. Indexes of these: `batch_index` (content and offset),
`group_commits` (order of commits), `unseen_records` (skipped records).
"""
