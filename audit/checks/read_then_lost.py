"""Read, then lost: a batch that a consumer was given and that the final leader does not have.

Consumers are given what is committed, so that nobody acts on a record which then is none. What was read must be in the
log of the final leader, in a batch with the same digest that covers its offset (who reads may begin in the middle of
one); or the partition's leader was elected uncleanly, or
disks forgot. A row is a batch, whoever read it and however often. What was deleted on request, with its topic or by
DeleteRecords, is not lost. (Jepsen's Kafka workload: lost writes, of which a read is the proof.)
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
SELECT r.run, r.topic, r.partition, r.base_offset AS offset,
  format_string('what was read at offset %d (leader epoch %d; times read: %d) the final leader does not have',
    r.base_offset, r.leader_epoch, r.times) AS text,
  to_json(struct(r.digest, r.leader_epoch, r.times, r.first_ms, r.last_ms)) AS details
FROM lost_reads AS r
"""

READ_THEN_LOST = Check(
    name="read-then-lost",
    title="What was read is kept",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("batch_appended", "role_changed"),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
    of_absence=True,
)
