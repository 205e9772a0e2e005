"""Fuzzing: judges random clusters and fault schedules; shrinks and groups violations.

Reading order. Generation: `draws` (a scenario from a seed and a number), `schedule` (the schedule so far and its open
faults), `faults` (single ones), `sequences` (faults that belong together), `mutation` (changes a scenario that reached
something new). Execution: `playing` (plays a scenario to its end), `trial` (judges it: broken promises and the rules
that explain them), `further` (promises without trace in final logs). Coverage: `coverage` (as words), `closely` (rules
and features, by called functions), `cited` (rules that a docstring names). Then `shrinking` (the smallest scenario with
the same violation and cause), `files` (a scenario as a readable file), `hunt` (many scenarios on all cores, finds
grouped by cause).
"""
