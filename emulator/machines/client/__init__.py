"""Clients: of the session service, and of the brokers.

Reading order:

- `session_client`, `session_servers`, `session_watches`, `waiting_call`, `retrying_session`, `pipeline`: the session
  service's client.
- `operations`: what clients of brokers write down about what they do; `kept_operations`: what is kept of it.
- `failure`: why a request was not answered; `exchange`: one over a connection of its own; `fetched`: what a fetch
  answer holds, as `fetched_entry` says it.
- `direct` (with `write_order`, `direct_write`, `direct_results`, `direct_offsets`): asks the broker it is told to ask,
  as the recordings do.
- `client_settings`: settings of producers and consumers, with each version's defaults.
- `deadlines`: when they have come, and a client's one timer.
- `connections`, `leader`, `metadata_cache`: lasting connections to brokers, and who leads what.
- `partitioner`: keys to partitions. `producer`, with `sent`, `blocked_send`, `blocked_sends`, `accumulator`,
  `producer_batch`, `sequences`, `producer_identity`: Kafka's producer.
- `consumer`, with `consumer_position`, `consumer_positioning` and `consumer_fetching`: Kafka's consumer.
- committed offsets: `offset_store` (what both places have in common), `coordinator` (who it is), `member_identity`,
  `coordinator_offsets`, `znode_offsets`; `group_position`: what a consumer does with them.
- members of groups: `assignors` (who reads what), `group_member`; `subscribed_consumer`: a consumer that is one.
- `workload_specs`, `workload`, `errands`, `group_errands`, `client_node`: a client process, what it does by itself and
  what it is asked to do.
- `client_asker`: the player's side of that.
- `client_versions`: defaults of newer Java clients.
"""
