"""A live cluster: its supervisor process outlives `up`, and carries out commands.

    faultline up  --->  supervisor (own session)  --- forks --->  brokers, session servers, clients
    faultline cut az-0, curl .../v1/faults  --->  its control server: HTTP with the run's token

Reading order: `control_requests` (requests and answers), `control_limits` (values out of bounds), `control_server`
(connections and their limits), `control_context` (state shared by all connections), `http` (the protocol),
`live_audit_request` (the audit), `control_client` and `trio_client` (clients of the control server), `cluster_registry`
(the running clusters: RUN_DIR/cluster.json) in the `state_home`, `command_execution` (registers a run over the network
meanwhile), `orphaned_resources` (remains of a killed supervisor), `name_suggestions` (nearest valid names),
`live_link_faults`, `live_protocol_faults`, `machine_faults`, `player_mailbox` (steps and client commands for the live
player), `await_registration` (started brokers, until they are registered), `client_work` (produce, consume, topics),
`topic_changes`, `voter_changes`, `offsets`, `workloads`, `cluster_status` (the nodes' own views), `live_cluster` (one
object that answers every request), `serve` (the cluster and its control server, until it ends), `settings_sources`
(its settings), `start_files` (settings files of a start), `setting_warnings` (warnings about settings),
`specification` (files that `up` writes), `settings_in_force` (settings as they are now), `supervisor` (the process),
`attached` (the process in a container), `single_container` (all nodes in one container), `container_health`
(its health check), `launch` (up), `ending` (down), `event_snapshot` (a snapshot of the events of a running cluster),
`newest_findings` (findings of a live audit); `metrics` (for Prometheus); `dashboard` (the status drawn for a terminal);
`page` (the live page in a browser, and its stream).
"""
