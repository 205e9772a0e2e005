"""Clients of ZooKeeper, and of the brokers.

Reading order:

- `session_client`, `session_servers`, `session_watches`, `retrying_session`, `pipeline`:
  ZooKeeper's client.
- `client_state`: results, failures, records as received, operations kept in memory.
- `client_operations`: recorded operations of brokers' clients.
- `exchange`: one request over a connection of its own; `fetched`: entries of a fetch response.
- `direct` (with `direct_write`, `direct_offsets`): sends to a named broker, as the recordings do.
- `client_settings`: settings of producers and consumers, with each version's defaults.
- `deadlines`: due deadlines, and a client's one timer.
- `connections`, `client_metadata`: lasting connections to brokers, and partitions' leaders.
- `partitioner`: keys to partitions. `producer`, with `blocked_send`, `blocked_sends`, `accumulator`,
  `producer_batch`, `producer_sequences`, `producer_identity`: Kafka's producer.
- `transaction_behaviour` (a version's), `transaction_errors`, `transaction_calls`, `transaction_requests`,
  `transaction_messages`, `producer_transactions`: its transactions.
- `consumer`, with `consumer_position`, `consumer_positioning` and `consumer_fetching`: Kafka's consumer.
- committed offsets: `offset_store` (shared part), `coordinator` (look-up of it),
  `coordinator_offsets`, `znode_offsets`; `group_position`: their use by a consumer.
- members of groups: `assignors` (assignment strategies), `group_member`; `subscribed_consumer`: a consumer that is
  one.
- `workload_specs`, `workload_settings`, `workload_pace`, `client_workload`: workloads; `transaction_loop`,
  `transactional_workload`, `transform_workload`, `transactional_produce`: those with transactions.
- `client_commands`, `group_commands`, `client_node`: a client process, with workloads and single commands.
- `client_requests`: the player's side of these.
- `client_versions`: defaults of newer Java clients.
"""
