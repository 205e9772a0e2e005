"""Duplicate: one produced batch that lies in the log more often than it was produced.

Retries send the same bytes, so every copy of a batch has one digest, and is what an attempt left behind. In the final
leader's log the records under a digest must not be more than the operations that ended with it, and did not fail for
certain (two operations may have equal bytes; one that is told to have ended twice is one). Without idempotence Kafka
allows duplicates whenever an answer was lost; with it, never (KIP-98): `idempotent` is in every row, beside how many
copies and attempts there are. What coordinators write into `__consumer_offsets` nobody has produced: an offset that is
committed twice is there twice.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

# The operation of a client that was killed never ended, but was there: a single copy is never one too many. Copies are
# few: who produced them is asked of them alone.
VIOLATIONS = """
SELECT run, topic, partition, last_at AS offset,
  format_string('%d copies of one batch, the first at offset %d, the last at %d; %d operations produced it',
    copies, first_at, last_at, operations) AS text,
  to_json(struct(digest, copies, records, operations, attempts, idempotent,
    first_at AS first_offset, last_at AS last_offset)) AS details
FROM (
  SELECT run, topic, partition, digest, max(records) AS records, max(copies) AS copies, max(first_at) AS first_at,
    max(last_at) AS last_at, count(operation) AS operations, coalesce(sum(attempts), 0L) AS attempts,
    coalesce(bool_and(idempotent), false) AS idempotent
  FROM (
    SELECT /*few(c)*/ c.*, o.operation, max(o.attempts) AS attempts, bool_and(o.idempotent) AS idempotent
    FROM (
      SELECT run, topic, partition, digest, sum(last_offset - base_offset + 1) AS records, count(*) AS copies,
        min(base_offset) AS first_at, max(base_offset) AS last_at
      FROM logs WHERE leads AND base_offset IS NOT NULL AND topic <> '__consumer_offsets'
      GROUP BY run, topic, partition, digest HAVING count(*) > 1
    ) AS c
    LEFT JOIN (SELECT * FROM operations WHERE kind = 'produce' AND outcome != 'failed') AS o
      ON o.run = c.run AND o.topic = c.topic AND o.partition = c.partition AND o.digest = c.digest
    GROUP BY ALL
  )
  GROUP BY run, topic, partition, digest
)
WHERE records > operations
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
