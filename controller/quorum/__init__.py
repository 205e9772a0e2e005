"""Raft quorum of KRaft's controllers, as a pure machine (docs/kraft-quorum.md).

KIP-595 and KIP-630; from 3.9 on KIP-853, from 4.0 on KIP-996.

Reading order:

- `settings`; behaviour by release is in `protocol.gates`;
- `quorum_inputs`: inputs and effects of a node;
- `quorum_log`: the interface of the log and its snapshots, and the rules of divergence; `voter_sets`: the voters;
  `election_file`: the file `quorum-state`;
- `epoch_votes`, `epoch_states`, `leader_state`: the states of a node;
  `vote_rules`: which state grants a vote; `state_transitions`: the durable transitions;
- `voter_change`, `voter_requests`: changes of the voters; `snapshot_requests`: snapshots;
- `peer_requests`: requests in flight; `parked_fetches`: fetches that wait;
  `leader_notices`: notices to the state machine;
- `quorum_context`: what all parts share;
  `request_handling`, `response_handling`, `state_polls`: the work of a node;
- `quorum_node`: the machine that joins these parts;
- `quorum_invariants`: the promises of the quorum, as a check over its machines.
"""
