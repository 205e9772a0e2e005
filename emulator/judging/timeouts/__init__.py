"""Time-outs of clients for a wanted recovery, measured in simulated faults.

Reading order: `timeout_choice` (candidates, and the choice among their measured waits), `group_takeover` (a consumer
that dies, and when another one has its partitions), `timeout_runs` (all of it on all cores).
"""
