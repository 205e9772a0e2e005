"""Divergence: at the end two replicas of a partition hold different batches at the same offset.

Replication copies batches whole, so at every offset below the shorter of two logs both must have the same (leader
epoch, digest). What lies above the end of the shorter log is lag, no divergence. Divergence while a fault lasts is
ordinary; a run that ends with it either was not healed or has met one of Kafka's truncation errors (semantics 8).
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LOGS
from audit.odd_places import AT

# Epoch and digest as one number, ordered by epoch (a digest is 32 bits): numbers are what Spark aggregates fastest.
# Two logs that differ have, at the first such offset, the start of a batch in both: below it they are equal, batch by
# batch.
VIOLATIONS = f"""
SELECT run, topic, partition, base_offset AS offset,
  format_string('at offset %d the replicas hold different batches, of leader epochs %d and %d',
    base_offset, shiftright(lowest, 32), shiftright(highest, 32)) AS text,
  to_json(struct(
    array(shiftright(lowest, 32), shiftright(highest, 32)) AS epochs,
    array(lowest & 4294967295, highest & 4294967295) AS digests,
    replicas)) AS details
FROM (
  SELECT run, topic, partition, base_offset, min(batch) AS lowest, max(batch) AS highest, count(*) AS replicas
  FROM (
    SELECT /*few(odd_places)*/ run, topic, partition, base_offset, shiftleft(leader_epoch, 32) + digest AS batch
    FROM logs
    --big LEFT SEMI JOIN odd_places ON {AT} = place
    WHERE base_offset IS NOT NULL
  )
  GROUP BY run, topic, partition, base_offset
)
WHERE lowest != highest
"""

REPLICA_DIVERGENCE = Check(
    name="replica-divergence",
    title="Replicas agree",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="batches appended",
    subjects=lambda counts: counts["batch_appended"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LOGS,
)
