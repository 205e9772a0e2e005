"""Verdicts of runs: findings, measures, trust, and campaigns of many runs.

Runs that Spark judges: `findings` (results of the audit's query), `completeness` (whether a run's events are all
there), `link_faults` (in force, of effect, healed), `health` (lateness and unexpected exits), `measures` (length of
unavailability, per client and AZ). Simulated runs: `oracle` (judges by the world's true state), `simulated_measures`.
Both: `equal` (the recording of real Kafka that a run equals), `assembled` (builds a verdict from its parts), `judged`
(plays and judges a simulated run), `seeds` (many of them), `listing` (decisive events of a run), `causes` (seeds
grouped by outcome, the rarest first), `vouching` (compares a late run with punctual ones), `schedules` (random ones),
`campaigns` (many runs and their data set), `crash_testing` (a node dies at any point, and the run is judged), `advice`
(single faults that break a promise, and the settings that prevent it), `fuzzing` (random schedules; a schedule that
breaks a promise is shrunk). For CI systems: `cases` of a verdict, `junit` and `markdown` made of them, `for_machines`
(writes both to the configured files).
"""
