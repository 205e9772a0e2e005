"""Fenced leader's change: an ISR change of a superseded leader succeeded.

A leader's ISR change names the state that the leader knows: the version of the znode. In a request to the controller it
names the leader epoch (KIP-497), in KRaft also the partition epoch. After a later leader epoch is committed, every
change of an older leader is refused (semantics 1.6). In TLA+ of Kafka's replication only the true leader updates the
ISR (QuorumUpdateLeaderAndIsr). If such a change succeeds, the ISR is that of a leader without followers, and it moves
high watermarks. A row is a successful change whose version of the state is behind one with a later leader epoch.
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT changes.run, changes.topic, changes.partition, -1L AS offset,
  format_string('%s changed the ISR as leader of epoch %d, as version %d, when leader epoch %d was committed',
    node, changes.leader_epoch, zk_version, reached) AS text,
  to_json(struct(node, changes.leader_epoch, zk_version, reached)) AS details
FROM (
  SELECT DISTINCT run, node, incarnation, topic, partition, leader_epoch, zk_version,
    substring_index(topic, '#', 1) AS plain, try_cast(substring_index(topic, '#', -1) AS BIGINT) AS number
  FROM rest WHERE event = 'isr_change_ended' AND result = 'done' AND leader_epoch >= 0
) AS changes
JOIN (
  SELECT run, topic, partition, version, life,
    max(life) OVER (PARTITION BY run, topic, partition) AS last_life,
    max(leader_epoch) OVER (PARTITION BY run, topic, partition, life ORDER BY version) AS reached
  FROM states
) AS states
  ON states.run = changes.run AND states.topic = plain AND states.partition = changes.partition
  AND states.version = zk_version AND life = coalesce(2 * number - 1, last_life)
WHERE reached > changes.leader_epoch
"""

CHECK = Check(
    name="fenced-leader-change",
    title="A fenced leader changes no ISR",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="states that ZooKeeper or KRaft committed",
    subjects=lambda counts: counts["znode_changed"] or counts["partition_state_committed"],
    violations=VIOLATIONS,
)
