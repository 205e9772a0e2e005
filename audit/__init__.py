"""Spark reads what happened and says which promises were kept; an oracle in plain Python stands beside it.

Reading order: `java` (which Java), `spark_home` (where Spark lives), `gateway` (its virtual machine), `started` (which
does not outlive us), `session` (a session in it), `class_archive` (why it starts quickly). Then the audit itself:
`input` (runs on disk), `events` (their lines as a table), `offices`, `lives` (of a topic, between its deletions) and
`facts` (the tables that checks read), `checks`, `doubts` (events that contradict one another), `judging` (all of it as
one query), `tuning`; `quarantine` and `expected` (what is made of it; the rest is in `emulator.judging`), `run` (the
whole), `warm_up`; `views` and `export` (the events for other tools), `asking` (`faultline sql`), `report` (the page),
`commands` (what the command line calls).
"""
