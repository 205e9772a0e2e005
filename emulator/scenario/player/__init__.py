"""The scenario's player: a machine outside every AZ that does steps and records results.

Reading order: `tasks` (steps are work that waits; several together), `observing` (state of the session service and the
brokers' own views), `waiter`, `waits` and `log_ends` (conditions), `session_writes` (topics and elections by znode),
`topics` (placement of replicas), `timeline` (the entries), `fault_steps`, `topic_steps`, `client_steps`, `group_steps`,
`workload_steps`, `settling` and `steps` (one method per verb), `stage` (context of steps), `player`; `live_requests`
and `live_player` for a long-running cluster, whose steps come one by one.
"""
