"""Verdicts of runs: findings, measures, trust, and campaigns of many runs.

Runs audited by Spark: `findings` (results of the audit's queries), `completeness` (whether all events are there),
`link_fault_effects` (each fault's request, effect and heal), `health` (other reasons against a run's validity),
`standstills` (processes that others stopped), `audited_measures`. Simulated runs: `oracle` (judges by the world's true
state), `simulated_measures`. Both: `measures` (unavailability of clients), `recording_match` (the recording of real
Kafka that a run equals), `verdict_builder` (a verdict from its parts), `judged` (a simulated run, played and judged),
`run_outcome` (a run's digest, and why it is not valid), `timeline_text` (a run's decisive events), `event_causes`
(seeds by outcome and reason), `lateness_check` (a late run compared with punctual ones), `schedule_judging` (random
schedules).

Many runs: `campaigns` (a space of settings, and its data set), `explain` (the rule that allows a violation),
`crash_testing` (deaths of nodes at any step), `advice` (single faults that break promises, and their remedies),
`rolls` (rolling restarts), `timeouts` (time-outs of clients for a wanted recovery), `layouts` (data centers and their
loss), `fuzzing` (random schedules). CI systems: `test_cases` of a verdict, `junit` and `markdown_summary` (formats),
`ci_reports` (writes both), `sarif` (structures of the format).
"""
