"""Lost: an acknowledged record that the partition's final leader does not have.

A produce that ended `ok` was promised a place: (topic, partition, offset) and the batch's digest. The record is lost
when the log of the final leader (the last leader epoch anybody led), after every truncation and power loss, holds no
batch with that digest at that offset. acks=0 promises no offset: any place will do. With acks=1 Kafka allows such a
loss,
with acks=all only if leaders are elected uncleanly or disks forget: `acks` is in every row, and the verdict counts by
it. A record that only a stale leader still holds is lost too: nobody can read it. What went with its topic, which was
deleted on request, is not.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
SELECT run, topic, partition, offset,
  format_string('%s was acknowledged (acks=%d) at offset %d; the final leader does not have it',
    operation, acks, offset) AS text,
  to_json(struct(operation, acks, digest, at_ms AS acknowledged_ms)) AS details
FROM operations AS o
LEFT ANTI JOIN (SELECT * FROM logs WHERE leads AND base_offset IS NOT NULL) AS log
  ON o.run = log.run AND o.topic = log.topic AND o.partition = log.partition AND o.digest = log.digest
  AND (o.offset < 0 OR o.offset BETWEEN log.base_offset AND log.last_offset)
WHERE kind = 'produce' AND outcome = 'ok' AND NOT gone
"""

LOST_ACKNOWLEDGED = Check(
    name="lost-acknowledged",
    title="Acknowledged records are kept",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("operation_ended", "batch_appended", "role_changed"),
    subject="acknowledged records",
    # Without the client level nobody knows what was acknowledged: appends by a leader stand for it, then.
    subjects=lambda counts: counts["acknowledged"] or (0 if counts["operation_ended"] else counts["led_appends"]),
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
