"""Observations of a run, and their comparison with real Kafka's.

Pure but for `recording_files`.

Reading order: `observation_model` (the entries of `observations.json`), `recording_parsing` (a file's text to them),
`producer_numbers`, `comparable`, `kraft_reduction` and `transaction_reduction` (the parts
that must match), `alignment` (two sequences, their differences),
`recording_comparison` (a run against recordings), `races` (outcomes that a scenario allows though no recording has
them), `recording_agreement` (schedules with more outcomes than recordings), `recording_files` (reading them from disk).
"""
