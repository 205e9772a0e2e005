"""Duplicate: one produced batch that the log has more often than it was produced.

A retry sends the same bytes, so every copy of a batch has the same digest. For each digest, the final leader's log must
not have more records than the operations produced. Those operations count that sent the digest, or ended with it, and
did not certainly fail. Two operations may have equal bytes. An operation without an end, because its client was killed
or the run was over, counts as one copy, however many attempts it made. A batch that a producer renumbers before it
retries (KIP-360) has another digest; the check does not recognise it. Without idempotence Kafka allows duplicates if a
response is lost, with it never (KIP-98). A row has `idempotent` and the counts of copies and attempts. A coordinator's
batches in `__consumer_offsets` have no producer, so repeated commits are not duplicates.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

# Copies are few, so only their operations are read. An attempt has no partition; its operation has. Partition -1: the
# partitioner had not chosen yet.
VIOLATIONS = """
WITH sent AS (
  SELECT /*few(copied)*/ copied.run, copied.topic, copied.partition, copied.digest, r.operation, r.attempt
  FROM requests AS r JOIN copied ON r.run = copied.run AND r.digest = copied.digest
),
produced AS (
  SELECT /*few(copied)*/ o.run, o.topic, o.partition, o.digest, o.operation, o.attempts, o.idempotent, o.outcome,
    o.records
  FROM operations AS o JOIN copied
    ON o.run = copied.run AND o.topic = copied.topic AND o.partition = copied.partition AND o.digest = copied.digest
  WHERE o.kind = 'produce'
  UNION ALL
  SELECT /*few(sent)*/ sent.*, CAST(NULL AS BOOLEAN), '', i.records
  FROM invocations AS i JOIN sent
    ON i.run = sent.run AND i.operation = sent.operation
    AND substring_index(i.topic, '#', 1) = substring_index(sent.topic, '#', 1)  -- it may have waited for the next one
    AND (i.partition = sent.partition OR i.partition < 0)
  WHERE i.kind = 'produce'
)
SELECT run, topic, partition, last_at AS offset,
  format_string('%d copies of one batch, the first at offset %d, the last at %d; %d operations produced it',
    copies, first_at, last_at, operations) AS text,
  to_json(struct(digest, copies, records, operations, attempts, idempotent,
    first_at AS first_offset, last_at AS last_offset)) AS details
FROM (
  SELECT copied.*, coalesce(made.operations, 0L) AS operations, coalesce(made.records, 0L) AS produced,
    coalesce(made.attempts, 0L) AS attempts,
    coalesce(made.idempotent, false) AS idempotent
  FROM copied LEFT JOIN (
    SELECT run, topic, partition, digest, count(*) AS operations, sum(records) AS records, sum(attempts) AS attempts,
      bool_and(idempotent) AS idempotent
    FROM (
      SELECT run, topic, partition, digest, operation, max(records) AS records, max(attempts) AS attempts,
        bool_and(idempotent) AS idempotent
      FROM produced GROUP BY run, topic, partition, digest, operation HAVING NOT bool_or(outcome = 'failed')
    )
    GROUP BY run, topic, partition, digest
  ) AS made
    ON made.run = copied.run AND made.topic = copied.topic AND made.partition = copied.partition
    AND made.digest = copied.digest
)
WHERE records > produced
"""

CHECK = Check(
    name="duplicate",
    title="Every record is stored once",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("operation_ended", "role_changed"),
    subject="batches appended",
    subjects=lambda counts: counts["batch_appended"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
