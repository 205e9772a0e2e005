"""The scenario's player: a machine outside every AZ that executes steps and records results.

Reading order: `tasks` (steps are work that waits; several together), `metadata_view`, `znode_source`,
`metadata_log_source` and `observing` (the cluster's metadata in ZooKeeper or KRaft, and those of brokers), `wait_steps`
and `log_ends` (conditions), `session_writes` (topics and elections by znode), `admin_requests` (the same in KRaft),
`topic_placement` (placement of replicas), `timeline` (the entries), `target_resolution` (nodes named by their role),
`fault_steps`, `quorum_step_execution`, `topic_steps`, `client_step_execution`, `group_steps`,
`transaction_step_execution`, `workload_steps`, `settling` and `steps` (one method per verb), `player_context` (shared
state of steps), `player`; `live_requests` and `live_player` for a long-running cluster, which sends steps one by one.
"""
