"""How parts make a process: the machine of each kind of node. Reading order: `broker_node`, `controller_node`, `specs`
(a node's machine from plain data)."""
