"""The scenario's player: a machine outside every AZ that does steps and records results.

Reading order: `tasks` (steps are work that waits; several together), `observing` (what the session service and the
brokers say of themselves), `waiter`, `wait_steps` and `log_ends` (conditions), `session_writes` (topics and elections
by znode), `topic_placement` (where replicas go), `timeline` (the entries), `target_resolution` (nodes named by their
role), `fault_steps`, `topic_steps`, `client_step_execution`, `group_steps`, `workload_steps`, `settling` and `steps`
(one method per verb), `player_context` (what steps work with), `player`; `live_requests` and `live_player` for a
cluster that stays, whose steps come one by one.
"""
