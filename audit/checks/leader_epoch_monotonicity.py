"""Monotonicity: leader epochs only rise, and each has one leader.

- A replica's own leader epoch never decreases (it ignores older LeaderAndIsr, semantics 1.7).
- Along a log's offsets the batches' leader epochs never decrease (KIP-101).
- No two brokers lead a partition in the same leader epoch.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LOGS

_ROLE_WENT_BACK = """
SELECT run, topic, partition, -1L AS offset,
  format_string('%s went back from leader epoch %d to %d', node, reached, leader_epoch) AS text,
  to_json(struct(node, reached AS was, leader_epoch AS now, at_ms)) AS details
FROM (
  SELECT *, max(leader_epoch) OVER (
    PARTITION BY run, node, topic, partition ORDER BY incarnation, seq
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM rest WHERE event = 'role_changed' AND leader_epoch >= 0
)
WHERE leader_epoch < reached
"""

# The offsets of an epoch as one range: epochs rise along the log exactly if the ranges follow one another.
_BATCH_WENT_BACK = """
SELECT run, topic, partition, first_at AS offset,
  format_string('in the log of %s epoch %d starts at offset %d, before an older epoch''s offset %d',
    node, leader_epoch, first_at, older_at) AS text,
  to_json(struct(node, leader_epoch, older_at)) AS details
FROM (
  SELECT *, max(last_at) OVER (
    PARTITION BY run, node, topic, partition ORDER BY leader_epoch
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS older_at
  FROM (
    SELECT run, node, topic, partition, leader_epoch, first_offset AS first_at, log_end - 1 AS last_at
    FROM log_ranges WHERE first_offset IS NOT NULL
  )
)
WHERE first_at < older_at
"""

_SHARED = """
SELECT run, topic, partition, -1L AS offset,
  format_string('%s led in the same leader epoch %d', array_join(nodes, ' and '), leader_epoch) AS text,
  to_json(struct(leader_epoch, nodes)) AS details
FROM (
  SELECT run, topic, partition, leader_epoch, sort_array(collect_set(node)) AS nodes
  FROM rest WHERE event = 'role_changed' AND role = 'leader' AND leader_epoch >= 0
  GROUP BY run, topic, partition, leader_epoch
)
WHERE size(nodes) > 1
"""

CHECK = Check(
    name="leader-epoch-monotonicity",
    title="Leader epochs only rise",
    definition=__doc__,
    levels=("replica",),
    needs=("role_changed",),
    subject="role changes and batches",
    subjects=lambda counts: counts["role_changed"] + counts["batch_appended"],
    violations=f"{_ROLE_WENT_BACK} UNION ALL {_BATCH_WENT_BACK} UNION ALL {_SHARED}",
    evidence=UNREADABLE_LOGS,
)
