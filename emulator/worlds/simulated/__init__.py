"""The simulated world: one process, one heap of (time, seq, what), virtual time.

The same seed gives the same bytes. Reading order: `latencies`, `latency_model` (draws them), `in_flight_frame` (a frame
in flight), `simulated_wire` (a connection), `node` (an incarnation of a machine), `trace` (events as lines),
`transport` (connections and frames at their gates), `heap` (virtual time, one input after the other), `fault_targets`
(faults of nodes and links), `fault_executor` (carries out the player's actions), `world` (all of it).
"""
