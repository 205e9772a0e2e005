"""Aborted read: a consumer at read_committed receives a record of an aborted transaction.

A row is a batch that an operation at read_committed read, with an ABORT marker of its producer behind it in the final
leader's log. The broker names aborted transactions in its response, and the client drops their records. For Kafka
clients nothing tells what the client dropped, so the check does not judge them. (Adya: G1a.)
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
SELECT r.run, r.topic, r.partition, r.base_offset AS offset,
  format_string('%s received offset %d at read_committed, which the marker at offset %d aborts', r.operation,
    r.base_offset, end_offset) AS text,
  to_json(struct(r.operation, producer_id, end_offset)) AS details
FROM (
  SELECT DISTINCT run, operation, topic, partition, base_offset, digest FROM reads
  LEFT SEMI JOIN (SELECT run, operation FROM invocations WHERE kind = 'fetch' AND isolation = 'read_committed')
    AS isolated USING (run, operation)
) AS r
JOIN (SELECT * FROM transactional_batches WHERE batch_kind = 'data' AND ended_by = 'abort') AS b
  ON r.run = b.run AND r.topic = b.topic AND r.partition = b.partition AND r.digest = b.digest
  AND r.base_offset BETWEEN b.base_offset AND b.last_offset
"""

CHECK = Check(
    name="aborted-read",
    title="Consumers read no aborted record",
    definition=__doc__,
    levels=("client", "replica"),
    needs=(),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
