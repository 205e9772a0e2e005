"""Who runs the machines. Reading order: `links` (what faults do to connections; pure), `simulated` (one heap, virtual time), `network` (trio, TCP, processes)."""
