"""Spark reads what happened and says which promises were kept; an oracle in plain Python stands beside it.

Reading order: `java` (which Java), `spark_home` (where Spark lives), `gateway` (its virtual machine), `started` (which
does not outlive us), `session` (a session in it), `class_archive` (why it starts quickly). Then the audit itself:
`input` (runs on disk), `events` (their lines as a table), `offices` and `facts` (the tables that checks read),
`checks`, `judging` (all checks as one query), `findings` (its answer), `tuning`; `health`, `measures`, `quarantine`,
`expected` and `verdict` (what is made of it), `run` (the whole), `warm_up`; `views` and `export` (the events for other
tools), `report` (the page), `commands` (what the command line calls).
"""
