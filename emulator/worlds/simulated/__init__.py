"""The simulated world: one process, one heap of (time, seq, what), virtual time; the same seed gives the same bytes.

Reading order: `latencies`, `chance` (draws them), `parcel` (a frame on its way), `wire` (a connection), `node` (a life
of a machine), `trace` (events as lines), `transport` (connections and frames at their gates), `heap` (virtual time, one
input after the other), `breakable` (what may be done to nodes and links), `fault_executor` (does what the player asks),
`world` (all of it).
"""
