"""The scenario's player: a machine outside every AZ that does steps and records results.

Reading order: `tasks` (steps are work that waits; several together), `observing` (what the session service and the
brokers say of themselves), `waiter`, `waits` and `log_ends` (conditions), `session_writes` (topics and elections by
znode), `topics` (where replicas go), `timeline` (the entries), `target_resolution` (nodes named by their role),
`fault_steps`, `topic_steps`, `client_steps`, `group_steps`, `workload_steps`, `settling` and `steps` (one method
per verb), `stage` (what steps work with), `player`; `live_requests` and `live_player` for a cluster that stays,
whose steps come one by one.
"""
