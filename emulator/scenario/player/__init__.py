"""The scenario's player: a machine outside every AZ that executes steps and records results.

Reading order: `tasks` (steps are work that waits; several together), `observing` (znodes of the session service, and
metadata of brokers), `wait_steps` and `log_ends` (conditions), `session_writes` (topics and elections by znode),
`topic_placement` (placement of replicas), `timeline` (the entries), `target_resolution` (nodes named by their role),
`fault_steps`, `topic_steps`, `client_step_execution`, `group_steps`, `workload_steps`, `settling` and `steps` (one
method per verb), `player_context` (shared state of steps), `player`; `live_requests` and `live_player` for a
long-running cluster, which sends steps one by one.
"""
