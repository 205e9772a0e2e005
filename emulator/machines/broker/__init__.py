"""The broker, as pure machines around injected storage. Reading order:

- shared: `settings`, `broker_state` (structs), `threads` (a broker's threads are work that waits), `broker_context`
- the log: `leader_epochs`, `producer_state`, `segment`, `stored_log`, `batches`
  (validation before appends), `replica_log`
- requests: `request_channel` (connections, request handlers), `purgatory` (delayed requests),
  `fifo_mutex` (a FIFO mutex)
- one partition: `remote_replica`, `partition_lock`, `partition`, `controller_channel`, `alter_isr`,
  `isr_notifications`, `isr_writes`
- all partitions: `broker_metadata`, `log_directories`, `directory_checkpoints`, `replica_manager`
- requests of clients and followers: `delayed_produce`, `appends`, `read_replica_selection`, `fetch_reads`,
  `delayed_fetch`, `fetches`, `offset_queries`, `log_dir_queries`, `record_deletions`
- automatic creation of topics: `topic_auto_creation`
- groups: `group_state`, `group_rebalance`, `group_membership` (members), `group_administration`; `offset_cache`,
  `group_records`, `group_coordinator` (the offsets topic), `group_statuses`
- transactions: `transaction_metadata` (one id), `transaction_log`, `broker_link`, `marker_sender`, `producer_ids`,
  `transaction_ends`, `transaction_coordinator`; `marker_writes`, `transaction_verification`, `transaction_queries`;
  `coordinator_lookup`
- following: `truncation`, `fetch_state`, `source_connection`, `truncating`, `out_of_range`, `fetcher`, `fetchers`
- a failed log directory: `offline_replicas`
- dynamic settings: `dynamic_settings` (the broker's own), `configurations` (of topics and brokers)
- decisions of the controller: `replica_transitions`, `controller_requests` (ZooKeeper), `metadata_deltas` (KRaft)
- the whole: `broker`; its figures under Kafka's names: `broker_metrics`
- administration: `producer_queries` (DescribeProducers)
"""
