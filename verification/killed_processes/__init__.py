"""`python -m verification.killed_processes [--runs 300]`: SIGKILL for every kind of process.

No process and no file may remain. Reading order: `remaining_processes` (a user with only the processes of one trial,
and their remains), `victims` (identification of processes), `trials` (a long-running cluster, a run, an audit: the
kill, and the required state afterwards).
"""
