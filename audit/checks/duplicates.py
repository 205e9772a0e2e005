"""Duplicate: one produced batch that lies in the log more often than it was produced.

Retries send the same bytes, so every copy of a batch has one digest. In the final leader's log the records under a
digest must not be more than the operations that ended with it (two operations may have equal bytes). Without
idempotence Kafka allows duplicates whenever an answer was lost; with it, never.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

# The operation of a client that was killed never ended, but was there: a single copy is never one too many.
VIOLATIONS = """
SELECT run, topic, partition, last_at AS offset,
  format_string('%d copies of one batch, the first at offset %d, the last at %d; %d operations produced it',
    copies, first_at, last_at, operations) AS text,
  to_json(struct(digest, copies, records, operations, first_at AS first_offset, last_at AS last_offset)) AS details
FROM (
  SELECT run, topic, partition, digest,
    sum(records) AS records, sum(operations) AS operations,
    count(base_offset) AS copies, min(base_offset) AS first_at, max(base_offset) AS last_at
  FROM (
    SELECT /*gather*/ * FROM (
      SELECT run, topic, partition, digest, base_offset, last_offset - base_offset + 1 AS records, 0L AS operations
      FROM logs WHERE leads AND base_offset IS NOT NULL
      UNION ALL
      SELECT run, topic, partition, digest, CAST(NULL AS BIGINT), 0L, 1L FROM operations WHERE kind = 'produce'
    )
  )
  GROUP BY run, topic, partition, digest
)
WHERE copies > 1 AND records > operations
"""

DUPLICATES = Check(
    name="duplicate",
    title="Every record is there once",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("operation_ended", "role_changed"),
    subject="batches appended",
    subjects=lambda counts: counts["batch_appended"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
