"""Verdicts of runs: findings, measures, trust, and campaigns of many runs.

Fed by Spark: `findings` (what the audit's query found), `completeness` (whether a run's events are all there),
`link_fault_effects` (asked for, of effect, healed), `health` (whether it can be trusted otherwise), `standstills`
(processes that others stopped), `audited_measures`. Of simulated runs: `oracle` (judges by the world's true state),
`simulated_measures`. Of both: `measures` (who was unavailable, and how long), `recording_match` (which recording of
real Kafka a run equals), `verdict_builder` (a verdict, put together from its parts), `judged` (a simulated run, played
and judged), `run_outcome` (its digest, and why it is not valid), `timeline_text` (what decided a run, event by event),
`event_causes` (seeds by why they came out so, the rarest first), `lateness_check` (a late run that says what a punctual
one says), `schedule_judging` (random ones), `campaigns` (many runs with one question, and their data set), `explain`
(the rule that allows a violation), `crash_testing` (a node dies anywhere, and the run is judged), `advice` (which
single faults break what, and the settings that end it), `fuzzing` (random schedules; what breaks a promise is made
small). For CI systems: `test_cases` of a verdict, `junit` and `markdown_summary` made of them, `ci_reports` (both,
written where a command was told to).
"""
