"""Partition state: the committed states of a partition contradict one another.

The controller writes a partition's state. In versions without AlterIsr the leader writes it as well. Each write names
the version of the state that the writer knows, so that a superseded writer changes nothing (semantics 1.6, 4.3). The
rules for the committed states of a partition since its creation, in the order of their transactions:

- the leader epoch never goes back;
- the controller epoch never goes back;
- one leader epoch has one leader;
- a leader is in its in-sync replicas.

A row is a state and a rule that it breaks. Every ZooKeeper server reports each transaction; one is enough. In KRaft the
states are records of the metadata log, and the controller epoch is the quorum's.
"""

from audit.checks.check import Check

_RULES = """stack(4,
    leader_epoch < last_leader_epoch, format_string('leader epoch %d after %d', leader_epoch, last_leader_epoch),
    controller_epoch < last_controller_epoch,
      format_string('controller epoch %d after %d', controller_epoch, last_controller_epoch),
    leader_epoch = last_leader_epoch AND leader != last_leader,
      format_string('leader %d after %d in the same leader epoch %d', leader, last_leader, leader_epoch),
    leader >= 0 AND NOT array_contains(isr, leader),
      format_string('leader %d is not in its in-sync replicas %s', leader, array_join(isr, ','))
  )"""

VIOLATIONS = f"""
SELECT run, topic, partition, -1L AS offset, format_string('%s (zxid %d)', why, zxid) AS text,
  to_json(struct(zxid, leader, leader_epoch, isr, controller_epoch)) AS details
FROM (SELECT *, {_RULES} AS (breaks, why) FROM states)
WHERE breaks
"""

CHECK = Check(
    name="partition-state",
    title="A superseded writer writes no state",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="states that ZooKeeper or KRaft committed",
    subjects=lambda counts: counts["znode_changed"] or counts["partition_state_committed"],
    violations=VIOLATIONS,
)
