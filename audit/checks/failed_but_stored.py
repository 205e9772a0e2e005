"""Failed, but stored: the log has a batch whose produce failed for certain.

A client reports a failure only if no attempt of the operation can have been stored: every one was refused, or not sent.
Otherwise the outcome is unknown. After a failure an application may produce the record again, or drop it. So the final
leader's log must not have the batch, at any offset. A row is such an operation. An operation with equal bytes that did
not fail for certain accounts for the batch. Records deleted with their topic do not count. (Jepsen's Kafka workload:
aborted reads.)
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
WITH failed AS (
  SELECT DISTINCT o.run, o.topic, o.partition, o.operation, o.digest
  FROM (
    SELECT run, topic, partition, operation, digest FROM operations
    WHERE kind = 'produce' AND outcome = 'failed' AND NOT gone
  ) AS o
  LEFT SEMI JOIN (SELECT * FROM logs WHERE leads AND base_offset IS NOT NULL) AS log
    ON o.run = log.run AND o.topic = log.topic AND o.partition = log.partition AND o.digest = log.digest
),
-- an operation without an end has its digest in its attempts
others AS (
  SELECT sent.run, sent.digest
  FROM requests AS sent
  LEFT ANTI JOIN (SELECT run, operation FROM operations WHERE kind = 'produce' AND outcome = 'failed') AS ended
    ON sent.run = ended.run AND sent.operation = ended.operation
  UNION ALL SELECT run, digest FROM operations WHERE kind = 'produce' AND outcome != 'failed'
)
SELECT run, topic, partition, -1L AS offset,
  format_string('%s failed for certain, and the final leader has its batch', operation) AS text,
  to_json(struct(operation, digest)) AS details
FROM failed LEFT ANTI JOIN others ON failed.run = others.run AND failed.digest = others.digest
"""

CHECK = Check(
    name="failed-but-stored",
    title="Failed records are not stored",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("operation_ended", "batch_appended", "role_changed"),
    subject="batches appended",
    subjects=lambda counts: counts["batch_appended"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
