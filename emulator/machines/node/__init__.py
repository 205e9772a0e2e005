"""Machines of a node's process, one per kind of node, made from their parts. Reading order:

- `broker_node`; `shutdown_request` (first part of an orderly stop), `session_close` (its last part),
  `topic_creation` (by a broker itself);
- requests of admin clients: `administration_work` (shared), `topic_administration`, `partition_administration`,
  `setting_administration`, `leader_administration`, `admin_routing` (routing);
- `controller_node`, `broker_status` (status of both), `specs` (a node's machine from plain data), `restarts` (with
  another binary or other settings);
- KRaft: `metadata_log`, `snapshot_files` (the log and the files of a quorum's node), `controller_format` (a new
  directory), `snapshot_schedule` (times of snapshots), `quorum_connections` (to its peers),
  `quorum_message_validation`, `quorum_member` (the node in its process), `quorum_observers` (views of it);
  `controller_part` (the controller on its log), `kraft_controller_node`;
- a KRaft broker: `node_channels` (to the controller), `broker_lifecycle` (its registration), `metadata_publishing`
  (the metadata log to the broker's parts), `forwarding` and `image_settings` (requests of admin clients),
  `kraft_broker_node`;
- `log_levels`: loggers of a broker.
"""
