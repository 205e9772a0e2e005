"""Who runs the machines.

Reading order: `links` (what faults do to connections; pure), `actions` (what the player asks of a world), `simulated`
(one heap, virtual time), `network` (trio, TCP, processes), `replay` (a node's life, run again). """
