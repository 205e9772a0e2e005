"""A broker's events as the lines that a Kafka broker of its version writes (semantics 9).

Reading order: `pattern` (a line, and its text by version), `process_texts`, `log_texts`, `fetcher_texts`,
`controller_texts`, `log_dir_texts` and `quorum_texts` (every known line, with the first version of each text),
`process_rendering` and `rendering` (from events to lines).
"""
