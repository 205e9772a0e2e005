"""The audit: Spark judges by a run's events whether promises were kept, beside the oracle.

Reading order: `java` (finds Java), `spark_home` (location of Spark), `spark_java` (its command line), `class_archive`
(speeds up its start), `spark_session` (settings, failures), `warm_spark` and `spark_keeper` (the server that commands
share, or one of a command's own, and its keeper). Then the audit itself: `input` (runs on disk), `event_lines` (their
lines as a table), `event_groups` (events with tables of their own), `blocks`, `line_ranges`, `single_lines`,
`block_sums` and `line_store` (lines of big runs: parsed by Arrow, cut out of files, read one by one, summed up and
stored), `event_counts` and `monotonic_runs` (counts of lines, and sequences that must not decrease), `leadership_terms`
(terms), `settled_tables` (quiescent periods), `topic_incarnations` (incarnations of topics), `states`, `log_tables`,
`suspect_offsets`, `consumer_tables`, `lost`, `transaction_tables`, `derived_tables` (tables that checks read;
`check_tables`: their meanings), `checks`, `evidence_contradictions` (contradictory events) and `causality_violations`
(events that contradict causality), `questions` (all of it as a few queries), `concurrent_queries` (runs them). Of small
runs: `parsed_events` (their events), `pretests` (parts that may have a row), `small_runs` (builds the tables). Of big
ones: `small_tables` (placement of small tables), `empty_queries` (queries without a row), `table_catalog` and
`prepared` (build the tables). `audit_run`, `tuning`; `quarantine` and `expected` (results; the rest is in
`emulator.judging`), `audited_run` (all), `tiny_run`; `views`, `view_creation`, `campaign_views` and `export` (runs and
campaigns for other tools), `query_relations`, `query_syntax`, `query_expressions` and `query_names` (refuse a query
without Spark), `opened`, `prompt` and `sql_command` (`faultline sql`), `report` (the page), `following` (live audit),
`commands` (functions of the command line).
"""
