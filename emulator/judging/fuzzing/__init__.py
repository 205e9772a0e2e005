"""Fuzzing: judges random clusters and fault schedules; shrinks and groups violations.

Reading order. Generation: `generator` (a scenario from a seed and a number), `schedule` (the schedule so far and its
open faults), `fault_generator` (single ones), `fault_sequences` (faults that belong together), `kraft_generator` and
`kraft_faults` (clusters with controllers of KRaft), `transaction_generator` and `transaction_faults` (transactional
clients), `fault_tables` (by cluster), `mutation` (changes a scenario that
reached something new). Execution: `fuzz_runs` (plays a scenario to its end), `execute` (judges it: broken
promises and the rules that explain them). Coverage: `coverage` (as words), `rule_coverage` (rules and features, by
called functions), `rule_references` (rules that a docstring names). Then `shrinking` (the smallest scenario with the
same violation and cause), `finding_files` (a scenario as a readable file), `fuzz_search` (many scenarios on all cores,
finds grouped by cause).
"""
