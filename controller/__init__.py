"""Who leads: Kafka's controller in ZooKeeper mode, as a pure machine (semantics 4).

Reading order:

  `procedure_waits`, `session_calls`: how a procedure, which is work that waits, talks to that service;
  `registration`: `/brokers/ids/N`, and the paths every broker makes sure of.
- `elections`: who leads and who is in sync, as functions;
  `assignment`: which brokers get a topic's replicas; `growth`: those of more partitions.
- `state`: what the controller knows; `settings`;
  `channels`: one queue per broker; `requests`: what goes into them.
- `context`: what a procedure works with; `watches`;
  `state_writes`: reads and conditional writes of partition states;
  `partition_states`, `replica_states`: the two state machines.
- The events: `term` (elect, take over, resign), `broker_events`, `topic_events`, `topic_deletion`,
  `isr_changes`, `preferred_elections`, `controlled_shutdown`, `reassignment`, `responses`; as clients ask for them:
  `leader_requests`, `reassignment_requests`.
- `controller_event`, `event_queue`: one event at a time; `metrics`: figures under Kafka's names; `controller`: the
  class that a broker's node holds.

Nothing here reads a clock, a socket or chance. Departures from Kafka are marked where they happen.
"""
