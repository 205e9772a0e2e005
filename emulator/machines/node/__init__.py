"""How parts make a process: the machine of each kind of node. Reading order: `broker_node`, `controlled_shutdown`
(an orderly stop's first part), `departure` (its last), `topic_creation` (by a broker itself); as clients ask:
`administration_work` (what all have in common), `topic_administration`, `partition_administration`,
`setting_administration`, `leader_administration`, `administration` (which takes what);
`controller_node`, `broker_status` (what both think), `specs` (a node's machine from plain data), `restarts` (with
another binary or other settings).
`log_levels`: loggers of a broker.
"""
