"""`python -m benchmarks.killed_processes [--runs 300]`: SIGKILL for every kind of process, and what is left afterwards.

Reading order: `left` (a user with nothing but what one trial starts, and what of it is still there), `victims` (which
process is which), `trials` (a cluster that stays, a run, an audit: what is killed, and what must be true then).
"""
