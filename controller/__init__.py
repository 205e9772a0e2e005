"""Kafka's controller in ZooKeeper mode, as a pure machine (semantics 4).

Reading order:

- `session_calls`: procedures, which are work that waits for ZooKeeper;
  `registration`: `/brokers/ids/N`, and the persistent paths that every broker creates.
- `elections`: leader and ISR of a partition, as functions;
  `assignment`: replicas of a new topic; `growth`: replicas of added partitions.
- `state`: brokers, topics and partition states; `settings`;
  `channels`: one queue per broker; `request_batches`: batches of requests to brokers.
- `controller_context`: state and services shared by all procedures; `controller_watches`;
  `state_writes`: reads and conditional writes of partition states;
  `partition_states`, `replica_states`: the two state machines.
- Events: `term` (elect, take over, resign), `broker_events`, `topic_events`, `topic_deletion`,
  `isr_requests`, `preferred_elections`, `shutdown_relief`, `reassignment`, `responses`.
- Requests of clients: `leader_requests`, `reassignment_requests`.
- `event_queue`: one event at a time; `controller_metrics`: figures under Kafka's names;
  `controller`: the class that a broker's node holds.

`quorum` and `kraft` are another controller's: the Raft quorum of KRaft mode, and the state machine on its log.

No module here reads a clock, a socket or chance. Comments mark each departure from Kafka where it happens.
"""
