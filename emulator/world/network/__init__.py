"""The network world: every node an operating system process, trio, TCP over loopback, files, real signals.

Reading order: `spec` (what a process is told), `clock` (one epoch and speed for a whole run), `timers`,
`event_file`, `connection` (one TCP connection at one end), `shell` (runs one machine: mailbox, step,
effects), `control` (the injector's connection, at the node), `process` (a node's main function),
`fork_server` (one warmed process forks all nodes), `cluster` (the supervisor). What every module keeps:
what a step wrote for a client's eyes is in the file before the step's frames leave.
"""
