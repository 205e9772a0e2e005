"""The session service: a ZooKeeper-like ensemble as pure machines (docs/semantics.md 5).

Reading order: `tree` (znodes: what is replicated), `watches` (one-shot notices of one server's clients),
`history` (transaction log, snapshot and epochs on disk), `sessions` (who is alive: the leader's expiry),
`election` (who leads), `following` and `leading` (a reign from both sides), `clients` (connections of session
clients, their order of answers), `observers` (the player's view), `server` (the machine that joins them).
"""
