"""A live cluster: its supervisor process holds it, outlives `up`, and carries out commands.

    faultline up  --->  supervisor (own session)  --- forks --->  brokers, session servers, clients
    faultline cut az-0  --->  its control server: one JSON line with the run's token  --->  one line back
    curl .../v1/faults  --->  the same, in HTTP

Reading order: `requests` (requests and answers), `bounds` (values out of bounds), `control_server` (connections and
their limits), `desk` (state shared by all connections), `line_talk` (JSON lines), `http` (HTTP), `auditing` (the audit
over HTTP), `control_client` and `trio_client` (clients of the control server), `registry` (the running clusters:
RUN_DIR/cluster.json) in the `state_home`, `playing` (registers a run over the network meanwhile), `left` (remains of a
killed supervisor), `words` (nearest valid names), `link_faults`, `machine_faults`, `player_mailbox` (steps and client
commands for the live player), `returning` (started brokers, until they are registered), `client_work` (produce,
consume, topics), `topic_changes`, `offsets`, `workloads`, `status` (the nodes' own views), `cluster` (one object that
answers every request), `holding` (the cluster and its control server, until it ends), `given` (its settings),
`start_files` (settings files of a start), `settings_told` (warnings about settings), `specification` (files that `up`
writes), `settings_in_force` (settings as they are now), `supervisor` (the process), `attached` (the process in a
container), `launch` (up), `ending` (down), `moment` (a snapshot of the events of a running cluster), `newest_findings`
(findings of a live audit); `dashboard` (the status drawn for a terminal).
"""
