"""The emulator's ZooKeeper: an ensemble of servers as pure machines (docs/semantics.md 5).

Reading order:

- `znode_paths`, `znode`, `open_session`, `stored_tree`, `tree`: the replicated state;
- `server_watches`: one-shot notices of one server's clients;
- `transaction_history`: transaction log, snapshot and epochs on disk;
- `sessions`: session expiry, in buckets of time;
- `election`, `peers`, `search`: leader election;
- `quorum`: a leadership term; `leader_message_validation`: validation of a leader's messages;
- `following`, then `learners`, `leading`, `broadcast`: a term from both sides;
- `one_client`, `clients`: connections of session clients, and the order of their responses;
- `observers`: the player's view;
- `server`: the machine that joins these parts.
"""
