"""Too few copies: fewer replicas than min.insync.replicas hold a record with acks=all.

`min.insync.replicas` is the count of replicas that must have a record before it is acknowledged with acks=all (Kafka's
documentation; semantics 1.8). Once all faults are healed and all processes live, every replica fetches what it lacks.
So at the end at least as many of the partition's assigned replicas hold it, at its offset and with its bytes: the least
value that any broker had of the setting during the run, at most all of them. A row is a record in fewer logs; records
deleted on request do not count. One that the final leader itself lacks is `lost-acknowledged`, not this. Judged only in
partitions whose last state has a leader and lasted in the quiescent period as long as a replica may need to be in sync
again (`under-replicated`), otherwise skipped; where a replica's events do not describe its log, unknown. (The TLA+
models' invariant: committed records are in the log of every in-sync replica.)
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
