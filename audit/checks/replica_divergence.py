"""Divergence: at the end two in-sync replicas hold different batches at the same offset.

Replication copies batches whole, so at every offset below the shorter of two logs both must have the same (leader
epoch, digest). Records above the end of the shorter log are lag, no divergence. A replica counts if its broker runs and
the partition's last committed ISR has it. If no state is known, every replica counts. A dead, paused or out-of-sync
replica may have an uncommitted tail, which it truncates before it is in sync again.

After a quiescent period that is long enough to be in sync again, a replica outside the ISR counts as well. The
partition must still be assigned to it. (A reassignment may leave a log on a broker that did not run; that log is no
replica.) Divergence during a fault is normal. A run that ends with it was not healed, or shows one of Kafka's
truncation errors (semantics 8).
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LOGS
from audit.settled_tables import ISR_MS
from audit.suspect_offsets import AT

# Epoch and digest as one number, ordered by epoch (a digest is 32 bits): numbers are what Spark aggregates fastest.
# Two logs that differ have, at the first such offset, the start of a batch in both: below it they are equal, batch by
# batch.
VIOLATIONS = rf"""
WITH members AS (
  SELECT run, topic, partition, isr AS brokers FROM states
  WHERE until_ms IS NULL AND isr IS NOT NULL
    AND run NOT IN (SELECT run FROM settled WHERE end_ms - since_ms > {ISR_MS})
  UNION ALL
  SELECT run, topic, partition, replicas FROM lasting WHERE last AND replicas IS NOT NULL AND peace_ms > {ISR_MS}
),
halted AS (
  SELECT run, node FROM (
    SELECT run, target AS node, max_by(what, struct(at_ms, seq)) AS last FROM rest
    WHERE event = 'machine_fault' AND what IN ('kill', 'stop', 'power-loss', 'died', 'pause', 'start', 'resume')
    GROUP BY run, target
  )
  WHERE last NOT IN ('start', 'resume')
  UNION
  SELECT run, node FROM (
    SELECT run, node, max(IF(event = 'node_started', incarnation, 0)) AS begun,
      max(IF(event = 'node_stopped' AND code != 0, incarnation, -1)) AS ended
    FROM rest WHERE event IN ('node_started', 'node_stopped') GROUP BY run, node
  )
  WHERE ended >= begun
)
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
    SELECT /*few(odd_places)*/ run, node, topic, partition, base_offset, shiftleft(leader_epoch, 32) + digest AS batch
    FROM logs
    --big LEFT SEMI JOIN odd_places ON {AT} = place
    WHERE base_offset IS NOT NULL
  ) AS held
  LEFT ANTI JOIN halted ON held.run = halted.run AND held.node = halted.node
  LEFT ANTI JOIN members ON held.run = members.run AND held.topic = members.topic
    AND held.partition = members.partition
    AND NOT array_contains(members.brokers, CAST(substring_index(held.node, '-', -1) AS BIGINT))
  GROUP BY run, topic, partition, base_offset
)
WHERE lowest != highest
"""

CHECK = Check(
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
