"""Acknowledged below min.insync.replicas: a leader with a small ISR acknowledged acks=all.

With acks=all a leader refuses a record while its ISR is smaller than `min.insync.replicas`. It checks this before it
appends the record, and again when the high watermark has passed it (semantics 1.8). A row is an acknowledged record.
One period covers two events: the leader's high watermark passes the record, and the client receives the response.
During that whole period the leader itself has too few replicas in its ISR. The leader's view is in its role, in its
requests for larger ISRs, and in ISR changes that succeeded. The responding broker is the receiver of the client's last
request. The least value of a setting that changes during the run counts.
"""

from audit.checks.check import Check
from audit.lost import EACH_RECORD

VIOLATIONS = f"""
SELECT run, topic, partition, offset,
  format_string(
    '%s was acknowledged (acks=all) at offset %d by %s, which took %d for in sync; min.insync.replicas is %d',
    operation, offset, node, in_sync, least) AS text,
  to_json(struct(operation, record, node, in_sync, least AS min_insync_replicas, at_ms AS acknowledged_ms)) AS details
FROM (
  SELECT run, topic, partition, operation, record, offset + record AS offset, at_ms, node,
    max(in_sync) AS in_sync, max(min_insync_replicas) AS least
  FROM (
    SELECT /*few(small)*/ o.run, o.topic, o.partition, o.operation, o.offset, o.at_ms, small.node, small.in_sync,
      small.min_insync_replicas, small.high_watermark, {EACH_RECORD}
    FROM operations AS o JOIN small_isrs AS small
      ON o.run = small.run AND o.topic = small.topic AND o.partition = small.partition
      AND concat('broker-', CAST(o.broker AS STRING)) = small.node
      AND o.at_ms > small.from_ms AND o.at_ms < coalesce(small.until_ms, double('infinity'))
      AND o.offset + o.records > small.high_watermark
    WHERE o.kind = 'produce' AND o.outcome = 'ok' AND o.acks = -1
  )
  WHERE record + offset >= high_watermark
  GROUP BY run, topic, partition, operation, record, offset, at_ms, node
)
"""

CHECK = Check(
    name="acknowledged-below-min-insync",
    title="acks=all waits for min.insync.replicas",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("role_changed",),
    subject="records acknowledged with acks=all",
    subjects=lambda counts: counts["acknowledged_by_all"],
    violations=VIOLATIONS,
)
