"""Ahead of the log: a group's committed offset lies beyond the end of the log.

A group commits the offset of its next record, so it is at most the log's end. The last commit is the acknowledged one
that ended last. If the final leader's log ends below it, records that the group read are lost. The group's next
consumer is then out of range, or silently skips as many new records. A row is a group and a partition. Offsets of the
old consumer, in ZooKeeper, are a store of their own. The check judges each store separately, because a consumer reads
only one of them. Partitions of deleted topics are ignored. A Kafka client may commit any offset. One beyond every
appended record shows no loss.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
SELECT ahead.run, ahead.topic, ahead.partition, committed AS offset,
  format_string('group %s has committed offset %d, and the log of the final leader ends at %d', group_id, committed,
    log_end) AS text,
  to_json(struct(group_id AS `group`, operation, log_end, store)) AS details
FROM (
  SELECT c.run, c.topic, c.partition, c.group_id, c.store, c.last.offset AS committed, c.last.operation,
    c.last.foreign, coalesce(log.log_end, 0L) AS log_end
  FROM (
    SELECT run, topic, partition, group_id, store, max(struct(ended_ms, ended_seq, offset, operation, foreign)) AS last
    FROM group_operations WHERE kind = 'commit' AND outcome = 'ok' AND NOT gone
    GROUP BY run, topic, partition, group_id, store
  ) AS c
  LEFT JOIN (
    SELECT run, topic, partition, greatest(max(log_end), max(begins)) AS log_end
    FROM log_ranges WHERE leads GROUP BY run, topic, partition
  ) AS log ON c.run = log.run AND c.topic = log.topic AND c.partition = log.partition
) AS ahead
LEFT JOIN (
  SELECT run, topic, partition, max(last_offset) + 1 AS reached FROM appends GROUP BY run, topic, partition
) AS ever ON ahead.run = ever.run AND ahead.topic = ever.topic AND ahead.partition = ever.partition
WHERE committed > log_end AND NOT (foreign AND committed > coalesce(reached, 0L))
"""

CHECK = Check(
    name="group-ahead-of-log",
    title="A group commits existing offsets",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("role_changed",),
    subject="offsets committed",
    subjects=lambda counts: counts["commits"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
