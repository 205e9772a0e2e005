"""Spark reads what happened and says which promises were kept; an oracle in plain Python stands beside it.

Reading order: `java` (which Java), `spark_home` (where Spark lives), `gateway` (its virtual machine), `started` (which
does not outlive us), `session` (a session in it), `class_archive` (why it starts quickly). Then the audit itself:
`input` (runs on disk), `events` (their lines as a table), `families` (which events have tables of their own), `blocks`,
`block_sums` and `kept_lines` (the lines of big runs, parsed by Arrow, summed up and kept), `tallies` and `stretches`
(how many lines, and whose clock goes forward), `offices`, `settled` (runs left in peace), `lives` (of a topic, between
its deletions), `states`, `logs`, `odd_places`, `given`, `lost`, `facts` (tables that checks read), `few_rows` (where
they lie) and `prepared` (who makes them), `checks`, `doubts` (events that contradict one another) and `clocks` (those
that contradict causes), `questions` (all of it as a few queries), `side_by_side` (which are asked at once),
`judging`, `ahead` (the same, planned before its run is played), `tuning`; `quarantine` and `expected` (what is made
of it; the rest is in `emulator.judging`), `run` (all), `tiny_run`; `views`, `campaign_views` and `export` (runs and
campaigns for other tools), `opened`, `prompt` and `asking` (`faultline sql`), `report` (the page), `following` (a run
that is still written), `commands` (what the command line calls).
"""
