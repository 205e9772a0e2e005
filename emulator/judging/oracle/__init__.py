"""The oracle: judges a simulated run by the world's true state, never by its events.

It stands beside the audit and shares no code with its checks: the same anomalies, found a second way, keep both
honest. It is fast enough to judge thousands of runs.

Reading order: `probe` (looks at machines while the world runs and remembers them in `watches`: who held which office
when, in `offices`; what logs held, in `written`; what replicas knew of their logs, in `kept`, as `kept_facts`; what
leaders took for in sync, in `beliefs`; what the session service has committed, in `committed`, as `committed_state`),
`lives` (of a topic, and whose it is that clients wrote and read), `truth` (all of it, and what is left in the end:
logs, operations; since when there was `peace`), `gathering` (makes it), `anomalies` (one function per check; they are
in `promises`, `records`, `reads`, `groups`, `leadership`, `replicas` and `liveness`, read `final_logs` and give
`violations`), `judge` (verdicts as in verdict.json).
Indexes of these: `batch_index` (content and offset), `group_commits` (order of commits), `unseen` (records read past).
"""
