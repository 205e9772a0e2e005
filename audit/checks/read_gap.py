"""Gap: the batches that one operation read are not one unbroken piece of the log.

The batches that one broker returns to a consumer's operation in one leader epoch skip no record, repeat none, and have
none before an earlier one; nothing is compacted or deleted behind the reader here. Where the broker or the epoch
changes, non-monotonic-read and skipped-read judge. Where the consumer has left its position in between
(`position_left`), no check does. A row is a batch that does not begin right behind the one before it. (Jepsen's Kafka
workload: skipped and nonmonotonic polls, within one poll.)
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('%s was given offset %d right behind %d', operation, base_offset, before) AS text,
  to_json(struct(operation, before, leader_epoch)) AS details
FROM leaps WHERE broker = giver AND leader_epoch = epoch
"""

CHECK = Check(
    name="read-gap",
    title="Reading skips no record",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
    of_absence=True,
)
