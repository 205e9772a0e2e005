"""The oracle: judges a simulated run by the world's true state, never by its events.

It stands beside the audit and shares no code with its checks: the same seven anomalies, found a second way, keep both
honest. It is fast enough to judge thousands of runs.

Reading order: `probe` (watches brokers while the world runs: who held which office when), `truth` (what is left in the
end: logs, operations, offices), `anomalies` (one function per check), `judge` (verdicts as in verdict.json).
"""
