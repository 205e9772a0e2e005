"""The network world: every node an operating system process, trio, TCP, files, real signals.

Reading order, a node's process from the inside out: `clock` (one epoch and speed for a whole run), `timers`,
`timekeeper`, `event_file`, `recorder`, `connection` (one TCP connection at one end), `accepting` and
`unauthenticated_connections` (connections that have not shown the run's token yet), `response_errors` (counts of
responses), `mailbox` and `switchboard` (all of a node's connections, and the gates that rules shut), `wire_events`,
`shell` (runs one machine: mailbox, step, effects), `arrivals` (Hello and control), `spec` (input of a process),
`factory` (its machine), `process` (its main function).
`kafka_listener` is the listener for Kafka clients; its schemas are imported when it is opened.

Then the supervisor's side: `supervision` (one node's control connection), `ports`, `engine` (makes a cluster's
processes), `local_engine` with `fork_server` (one warmed process forks all nodes), `fork_serving` and `forking`,
`forks` (the part it shares with an agent), `agent_engine` with `agent` (one on each machine) and `handshake`
(handshakes at an agent), `in_process` (the player's shell), `rule_board` (rules in force), `reports`, `processes` (the
nodes' processes, from order to exit code), `node_supervisor` (the interface to all of it).
"""
