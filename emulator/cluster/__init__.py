"""A cluster that stays: a process of its own holds it, outlives the command that started it, and takes orders.

    faultline up  --->  supervisor (own session)  --- forks --->  brokers, session servers, clients
    faultline cut az-0  --->  its control server: one JSON line with the run's token  --->  one line back
    curl .../v1/faults  --->  the same, in HTTP

Reading order: `requests` (what may be asked, and the answer), `bounds` (what of it is out of them), `control_server`
(who asks, and how much of it is let in), `desk` (what all conversations share), `line_talk` (JSON lines), `http`
(HTTP), `auditing` (the audit, for who asks over HTTP), `control_client` and `trio_client` (the asker's side),
`registry` (which clusters there are: RUN_DIR/cluster.json) in the `state_home`, `playing` (a run over the network,
registered meanwhile), `left` (what a killed supervisor has left), `words` (nearest valid names), `link_faults`,
`machine_faults`, `player_mailbox` (steps and errands handed to the live player), `returning` (started brokers, until
they are registered), `client_work` (produce, consume, topics), `topic_changes`, `offsets`, `workloads`, `status` (what
nodes think, side by side), `cluster` (one object that answers every request), `holding` (the cluster and its control
server, until it ends), `given` (its settings), `start_files` (those of a start), `settings_told` (what is to be said of
them), `specification` (what `up` writes down), `settings_in_force` (what they all are now), `supervisor` (the process),
`attached` (the process in a container), `launch` (up), `ending` (down) and `moment` (its events, while it goes on
writing them), `newest_findings` (what a follow of it tells); `dashboard` (its status as a picture for a terminal).
"""
