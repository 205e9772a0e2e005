"""The broker, as pure machines around injected storage. Reading order:

- what all share: `settings`, `context`
- the log: `leader_epochs`, `producer_state`, `segment`, `log`
- one partition: `remote_replica`, `parked`, `partition`, `isr_changes`, `controller_channel`
- all of them: `metadata_cache`, `replicas`
- requests: `appends`, `fetches`, `questions`
- committed offsets: `offset_cache`, `group_coordinator`
- following: `truncation`, `fetch_state`, `truncating`, `out_of_range`, `fetcher`, `fetchers`
- the controller's orders: `leadership`; the whole: `broker`; its figures under Kafka's names: `metrics`
"""
