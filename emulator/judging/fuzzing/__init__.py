"""Random clusters, settings and schedules of faults, judged; what breaks a promise is made small and grouped.

Reading order. What is drawn: `draws` (a scenario from a seed and a number), `schedule` (what of it is drawn so far, and
what is broken by it), `faults` (one by one), `sequences` (those that belong together), `mutation` (a scenario that
reached something new, changed a little). What becomes of it: `playing` (a drawn scenario played to its end), `trial`
(and judged: what it broke, and by which rule or none), `further` (promises that no final log tells of). What it
reached: `coverage` (as words), `closely` (rules and gates, by the functions that were called), `cited` (the rules
that a docstring names). Then `shrinking` (the smallest scenario that breaks the same for the same cause), `files`
(such a scenario as a file a person can read), `hunt` (many of them on all cores, finds grouped by cause).
"""
