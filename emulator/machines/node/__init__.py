"""How parts make a process: the machine of each kind of node. Reading order: `broker_node`, `controlled_shutdown`
(an orderly stop's first part), `topic_creation` (by a broker itself), `controller_node`, `broker_status` (what both
think), `specs` (a node's machine from plain data), `restarts` (with another binary or other settings).
"""
