"""Simulation of the Raft quorum of controllers under faults.

Kills, power losses, partitions, pauses, lost and late messages.


Reading order: `quorum_world` (nodes, network, one heap of events), `quorum_faults` (faults of a seed, by chance),
`quorum_seeds` (one seed, judged by the invariants and by its end), `quorum_mutants` and `voter_mutants` (wrong
machines), `mutant_search` (seeds that detect them).
"""
