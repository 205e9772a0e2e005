"""The broker, as pure machines around injected storage. Reading order:

`settings`, `context`; the log: `leader_epochs`, `producer_state`, `segment`, `log`; one partition: `remote_replica`,
`parked`, `partition`, `isr_changes`, `controller_channel`; all of them: `metadata_cache`, `replicas`; requests:
`appends`, `fetches`, `questions`; following: `truncation`, `fetcher`; the controller's orders: `leadership`; the
whole: `broker`. """
