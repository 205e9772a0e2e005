"""The broker, as pure machines around injected storage. Reading order:

- what all share: `settings`, `context`
- the log: `leader_epochs`, `producer_state`, `segment`, `log`
- one partition: `remote_replica`, `parked`, `partition`, `controller_channel`, `alter_isr`, `isr_notifications`,
  `isr_changes`
- all of them: `metadata_cache`, `log_directories`, `replicas`
- requests: `appends`, `fetches`, `questions`
- committed offsets: `offset_cache`, `group_coordinator`
- following: `truncation`, `fetch_state`, `truncating`, `out_of_range`, `fetcher`, `fetchers`
- a log directory that fails: `offline_replicas`
- the controller's orders: `roles`, `leadership`; the whole: `broker`; its figures under Kafka's names: `metrics`
"""
