"""The oracle: judges a simulated run by the world's true state, never by its events.

The oracle stands beside the audit and shares no code with its checks: two implementations of the same anomalies verify
each other. It is fast enough to judge thousands of runs.

Reading order: `probe` inspects machines while the world runs and records facts in `watches`. The facts are `offices`
(leaders and controllers over time), `written` (contents of logs), `kept` and `kept_facts` (replicas' knowledge of their
logs), `beliefs` (leaders' views of their ISRs), `committed` and `committed_state` (ZooKeeper's committed states).
`lives` maps operations to incarnations of topics. `truth` has all facts, and the final logs and operations; `peace`
finds the quiescent period; `gathering` builds the truth. `anomalies` lists one function per check. The functions are in
`promises`, `records`, `reads`, `groups`, `leadership`, `replicas` and `liveness`; they read `final_logs` and return
`violations`. `judge` makes the verdicts of verdict.json.
Indexes of these: `batch_index` (content and offset), `group_commits` (order of commits), `unseen` (skipped records).
"""
