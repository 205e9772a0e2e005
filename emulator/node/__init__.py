"""How parts make a process: the machine of each kind of node. Reading order: `broker_node`, `controlled_shutdown`
(an orderly stop's first part), `controller_node`, `broker_status` (what both think), `specs` (a node's machine from
plain data)."""
