"""The simulated world: one process, one heap of (time, seq, what), virtual time; the same seed gives the same bytes.

Reading order: `chance` (latencies), `wire` (a connection), `node` (a life of a machine), `world` (the heap and what
may be done to nodes), `trace` (events as lines). """
