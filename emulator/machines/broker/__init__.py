"""The broker, as pure machines around injected storage. Reading order:

- what all share: `settings`, `threads` (what a broker's do is work that waits), `context`
- the log: `leader_epochs`, `remembered_batch`, `producer_state`, `segment`, `log_settings`, `stored_log`, `batches`
  (that are to be appended), `log`
- requests: `requests` (connections, request handlers), `parked`, `purgatory` (those that wait), `turns` (one at a time)
- one partition: `remote_replica`, `partition_lock`, `partition`, `controller_channel`, `alter_isr`,
  `isr_notifications`, `isr_changes`
- all of them: `metadata_cache`, `log_directories`, `directory_checkpoints`, `replicas`
- what clients and followers ask: `delayed_produce`, `appends`, `partition_read`, `reads`, `delayed_fetch`, `fetches`,
  `offset_queries`, `log_dir_queries`, `record_deletions`
- topics that are made because somebody asked: `topic_auto_creation`
- groups: `group_state`, `group_rebalance`, `group_membership` (members), `group_administration`; `offset_cache`,
  `group_records`, `group_coordinator` (the offsets topic)
- following: `truncation`, `fetch_state`, `source_connection`, `truncating`, `out_of_range`,
  `fetcher`, `fetchers`
- a log directory that fails: `offline_replicas`
- settings that change while it lives: `dynamic_settings` (its own), `configurations` (of topics and brokers)
- the controller's orders: `replica_transitions`, `leadership`; the whole: `broker`; its figures under Kafka's names:
  `metrics`
- administration: `producer_queries` (DescribeProducers)
"""
