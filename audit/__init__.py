"""The audit: Spark judges by a run's events whether promises were kept, beside the oracle.

Reading order: `java` (finds Java), `spark_home` (location of Spark), `gateway` (its virtual machine), `started` (ends
it with this process), `session` (a session in it), `class_archive` (speeds up its start). Then the audit itself:
`input` (runs on disk), `events` (their lines as a table), `families` (events with tables of their own), `blocks`,
`block_sums` and `kept_lines` (lines of big runs, parsed by Arrow, summed up and stored), `tallies` and `stretches`
(counts of lines, and sequences that must not decrease), `offices` (terms), `settled` (quiescent periods), `lives`
(incarnations of topics), `states`, `logs`, `odd_places`, `given`, `lost`, `facts` (tables that checks read), `few_rows`
(placement of small tables) and `prepared` (builds the tables), `checks`, `doubts` (contradictory events) and `clocks`
(events that contradict causality), `questions` (all of it as a few queries), `side_by_side` (concurrent queries),
`judging`, `ahead` (plans the audit before its run has been played), `tuning`; `quarantine` and `expected` (results; the
rest is in `emulator.judging`), `run` (all), `tiny_run`; `views`, `campaign_views` and `export` (runs and campaigns for
other tools), `opened`, `prompt` and `asking` (`faultline sql`), `report` (the page), `following` (live audit),
`commands` (functions of the command line).
"""
