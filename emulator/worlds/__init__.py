"""The worlds that run the machines and carry out faults.

Reading order: `simulated` (one heap, virtual time), `network` (trio, TCP, processes), `cluster_file` (a topology from a
compose file), `containers` and `packet_filter` (separate machines for nodes; cuts by the kernel), `replay` (an
incarnation of a node, run again).
"""
