"""What a run is worth.

Fed by Spark: `findings` (what the audit's query found), `completeness` (whether a run's events are all there),
`link_faults` (asked for, of effect, healed), `health` (whether it can be trusted otherwise), `measures` (who was
unavailable, and how long). Of simulated runs: `oracle` (judges by the world's true state), `simulated_measures`. Of
both: `equal` (which recording of real Kafka a run equals), `assembled` (a verdict, put together from its parts),
`judged` (a simulated run, played and judged), `seeds` (many of them), `vouching` (a late run that says what a punctual
one says), `schedules` (random ones), `junit` (a verdict for a CI system), `crash_testing` (a node dies anywhere, and
the run is judged).
"""
