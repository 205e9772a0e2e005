"""The simulated world: one process, one heap of (time, seq, what), virtual time; the same seed gives the same bytes.

Reading order: `chance` (latencies), `wire` (a connection), `node` (a life of a machine), `transport` (connections and
frames at their gates), `world` (the heap, and what may be done to nodes), `deeds` (what the player asks), `trace`
(events as lines). """
