"""The session service: a ZooKeeper-like ensemble as pure machines (docs/semantics.md 5).

Reading order: `paths`, `znodes`, `open_session`, `stored_tree` and `tree` (what is replicated), `watches` (one-shot
notices of one server's clients), `history` (transaction log, snapshot and epochs on disk), `sessions` (who is alive:
buckets of time), `election`, `peers` and `search` (who leads), `quorum` (what a leadership term is), `leaders_word`
(what may follow from it), `following`, then `learners`, `leading` and `broadcast` (a term from both sides),
`one_client` and `clients` (connections of session clients, the order of their answers), `observers` (the player's
view), `server` (the machine that joins them).
"""
