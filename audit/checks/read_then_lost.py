"""Read, then lost: a batch that a consumer read and that the final leader does not have.

Consumers read committed records only, so that no application acts on a record that is lost later. A batch that was read
must be in the log of the final leader, with the same digest at its offset. A read may begin in the middle of a batch.
Otherwise the partition's leader was elected uncleanly, or disks lost data. A row is a batch, for all its readers
together. Records deleted on request, with their topic or by DeleteRecords, are not lost. (Jepsen's Kafka workload: lost
writes that a read proves.)
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
SELECT r.run, r.topic, r.partition, r.base_offset AS offset,
  format_string('the batch read at offset %d (leader epoch %d; times read: %d) is not on the final leader',
    r.base_offset, r.leader_epoch, r.times) AS text,
  to_json(struct(r.digest, r.leader_epoch, r.times, r.first_ms, r.last_ms)) AS details
FROM lost_reads AS r
"""

CHECK = Check(
    name="read-then-lost",
    title="Read records are kept",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("batch_appended", "role_changed"),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
    of_absence=True,
)
