"""Too few copies: fewer replicas than min.insync.replicas hold a record with acks=all.

`min.insync.replicas` is the count of replicas that must have a record before it is acknowledged with acks=all (Kafka's
documentation; semantics 1.8). After all faults are healed and all processes are alive, every replica fetches the
missing records. So at the end at least so many of the assigned replicas have the record, with its bytes at its offset.
The least value of the setting that any broker had during the run counts, at most the number of replicas. (The TLA+
models' invariant: committed records are in the log of every in-sync replica.)

A row is a record in fewer logs. Records deleted on request do not count. A record that the final leader lacks is
`lost-acknowledged`. The check skips a partition whose last state has no leader. It also skips one whose last state was
too short for a replica to be in sync again (`under-replicated`). If a replica's events do not describe its log, the
check is unknown.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LOGS
from audit.lost import EACH_RECORD

VIOLATIONS = f"""
SELECT held.run, held.topic, held.partition, held.offset,
  format_string('%s was acknowledged (acks=all) at offset %d; %d of the replicas %s have it, and min.insync.replicas '
    || 'is %d', operation, held.offset, copies, array_join(replicas, ','), least) AS text,
  to_json(struct(operation, record, copies, replicas, least AS min_insync_replicas, held.digest,
    at_ms AS acknowledged_ms)) AS details
FROM (
  SELECT run, topic, partition, operation, record, IF(offset < 0, offset, offset + record) AS offset, digest, at_ms,
    replicas, least, copies
  FROM (
    SELECT *, {EACH_RECORD}
    FROM (
      SELECT /*few(acked)*/ acked.run, acked.topic, acked.partition, operation, offset, records, acked.digest, at_ms,
        replicas, least, max(leads) AS led,
        count(DISTINCT IF(array_contains(replicas, try_cast(substring_index(node, '-', -1) AS BIGINT)), node, NULL))
          AS copies
      FROM promised AS acked JOIN logs
        ON acked.run = logs.run AND acked.topic = logs.topic AND acked.partition = logs.partition
        AND acked.digest = logs.digest AND (offset < 0 OR offset BETWEEN base_offset AND last_offset)
      WHERE least > 1
      GROUP BY ALL
    )
    WHERE led AND copies < least
  )
) AS held
LEFT ANTI JOIN deleted
  ON held.run = deleted.run AND held.topic = deleted.topic AND held.partition = deleted.partition
  AND held.digest = deleted.digest AND (held.offset < 0 OR held.offset BETWEEN base_offset AND last_offset)
"""

CHECK = Check(
    name="too-few-copies",
    title="Records with acks=all have their promised copies",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("role_changed",),
    subject="records acknowledged with acks=all before a long enough quiescent period",
    subjects=lambda counts: 0,
    violations=VIOLATIONS,
    evidence=UNREADABLE_LOGS,
    counted="SELECT run, records FROM promised",
    counted_as="sum(records)",
    of_absence=True,
)
