"""Who runs the machines, and carries faults out.

Reading order: `simulated` (one heap, virtual time), `network` (trio, TCP, processes), `cluster_file` (a topology from a
compose file), `containers` and `packet_filter` (machines of their own for nodes; cuts by the kernel), `replay` (a
node's life, run again).
"""
