"""The network world: every node an operating system process, trio, TCP over loopback, files, real signals.

Reading order, a node's process from the inside out: `clock` (one epoch and speed for a whole run),
`timers`, `timekeeper`, `event_file`, `recorder`, `connection` (one TCP connection at one end), `accepting` and
`strangers` (connections that have not shown the run's token yet), `mailbox` and `switchboard`
(all of a node's connections, and the gates that rules shut), `wire_events`, `shell` (runs one machine:
mailbox, step, effects), `arrivals` (Hello and control), `spec` (what a process is told), `factory` (its
machine), `process` (its main function).
`door` is where Kafka clients come in: a room of its own, whose library is imported when it is opened.

Then the supervisor's side: `supervision` (one node's control connection), `ports`, `engine` (what gives a cluster its
processes), `local_engine` with `fork_server` (one warmed process forks all nodes), `fork_serving` and `forking`,
`forks` (what it has in common with an agent), `agent_engine` with `agent` (one on each machine) and `introductions`
(who knocks there), `in_process` (the player's shell), `rule_board` (rules in force), `reports`, `processes` (of the
nodes, from order to exit code), `cluster` (the door to all of it).
"""
