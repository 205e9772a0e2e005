"""The network world: every node an operating system process, trio, TCP over loopback, files, real signals.

Reading order, a node's process from the inside out: `clock` (one epoch and speed for a whole run),
`timers`, `timekeeper`, `event_file`, `recorder`, `connection` (one TCP connection at one end), `desk` and `switchboard`
(all of a node's connections, and the gates that rules shut), `wire_events`, `shell` (runs one machine:
mailbox, step, effects), `arrivals` (Hello and control), `spec` (what a process is told), `process` (its
main function).

Then the supervisor's side: `supervision` (one node's control connection), `ports`, `engine` (what gives a cluster its
processes), `local_engine` with `fork_server` (one warmed process forks all nodes) and `forking`, `kept_engine` with
`container` (a keeper on each machine), `in_process` (the player's shell), `rule_board` (rules in force), `reports`,
`lives` (of the nodes, from order to exit code), `cluster` (the door to all of it).
"""
