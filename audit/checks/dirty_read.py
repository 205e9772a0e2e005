"""Dirty read: a response at read_committed has a record of a transaction that is not ended.

A broker returns records up to the last stable offset. That is the first record of the oldest transaction that is
open, or whose marker is not below the high watermark. A row is a batch of a transaction that was read at
read_committed and that the final leader has. No replica ever appended a marker of its producer behind it and below
the high watermark of the response. (A log may have lost the marker since.) The same holds for the responses to Kafka
clients.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
SELECT r.run, r.topic, r.partition, r.base_offset AS offset,
  format_string('%s received offset %d at read_committed below high watermark %d; its transaction %s', r.operation,
    r.base_offset, r.high_watermark,
    coalesce(concat('ends at offset ', end_offset), 'does not end')) AS text,
  to_json(struct(r.operation, producer_id, r.high_watermark, end_offset)) AS details
FROM (
  SELECT DISTINCT run, operation, topic, partition, base_offset, digest, high_watermark
  FROM reads LEFT JOIN (
    SELECT run, operation, true AS isolated FROM invocations WHERE kind = 'fetch' AND isolation = 'read_committed'
  ) AS isolated USING (run, operation)
  WHERE isolated OR last_stable_offset >= 0
) AS r
JOIN (SELECT * FROM transactional_batches WHERE batch_kind = 'data') AS b
  ON r.run = b.run AND r.topic = b.topic AND r.partition = b.partition AND r.digest = b.digest
  AND r.base_offset BETWEEN b.base_offset AND b.last_offset
LEFT ANTI JOIN (SELECT * FROM ever_transactional WHERE batch_kind != 'data') AS marker
  ON r.run = marker.run AND r.topic = marker.topic AND r.partition = marker.partition
  AND b.producer_id = marker.producer_id AND marker.base_offset > b.base_offset
  AND marker.base_offset < r.high_watermark
"""

CHECK = Check(
    name="dirty-read",
    title="Consumers read no open transaction",
    definition=__doc__,
    levels=("client", "replica"),
    needs=(),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
