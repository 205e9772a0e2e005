"""Observations of a run, and their comparison with real Kafka's. Pure but for `files`.

Reading order: `model` (the entries of `observations.json`), `reading` (a file's text to them), `comparable` (the parts
that must match), `alignment` (two sequences, their differences), `compare` (a run against recordings), `races`
(outcomes that a scenario allows though no recording has them), `agreement` (schedules with more outcomes than
recordings), `files` (reading them from disk).
"""
