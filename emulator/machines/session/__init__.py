"""The emulator's ZooKeeper: an ensemble of servers as pure machines (docs/semantics.md 5).

Reading order:

- `session_state`: the structs of this package; `znode_paths`, `znode`, `tree`: the replicated state;
- `server_watches`: one-shot notices of one server's clients;
- `transaction_history`: transaction log, snapshot and epochs on disk;
- `sessions`: session expiry, in buckets of time;
- `election`, `peers`, `search`: leader election;
- `quorum`: a leadership term; `leader_message_validation`: validation of a leader's messages;
- `following`, then `leading`, `broadcast`: a term from both sides;
- `clients`: connections of session clients, and the order of their responses;
- `observers`: the player's view;
- `server`: the machine that joins these parts.
"""
