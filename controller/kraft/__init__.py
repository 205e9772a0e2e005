"""The controller of KRaft: the state of the cluster, decided by the quorum's leader.

Reading order:

- `metadata_image`: the state that the records of the metadata log describe; brokers have one, too.
- `image_records`: records of a snapshot.
- `feature_levels`, `controller_settings`: feature levels in the log, and settings.
- `cluster_view`: an image with both, as decisions read it.
- `partition_changes`: elections, ISR and ELR of one partition, as one record.
- `replication_control`: partitions of a broker that is fenced, unfenced, stopped or registered again.
- `hash_order`: the order of Java's hash maps, in which sessions expire.
- `broker_heartbeats`, `broker_registrations`: sessions, fencing, controlled shutdown.
- `alter_partition`: a leader's change of its ISR.
- `replica_placement`, `topic_requests`, `config_requests`, `reassignments`, `election_requests`: clients' changes.
- `producer_id_blocks`: producer ids for brokers.
- `open_elections`: partitions that a task could elect a leader of.
- `request_refusals`: responses that refuse a request.
- `activation_records`, `periodic_tasks`, `pending_replies`: a claim, its tasks, responses that wait for commitment.
- `committed_events`: events of committed records.
- `controller_log`: what the controller needs of its quorum's node.
- `quorum_controller`: all of it.
"""
