"""A broker's events as the lines that a Kafka broker of its version writes (semantics 9).

Reading order: `pattern` (what a line is, and how its text depends on the version), `log_texts`, `fetcher_texts`,
`controller_texts` and `log_dir_texts` (every line that is known, with the first version of each text), `rendering`
(which event becomes which line).
"""
