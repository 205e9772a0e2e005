"""Gap: what one operation was given is not one unbroken piece of the log.

What one broker gives a consumer's operation of one leader epoch, batch after batch, leaves no record out, gives none
twice, and none before an earlier one; nothing is compacted or deleted behind the reader here. Where the broker or the
epoch is another, non-monotonic-read and skipped-read look. Where the consumer has left its position in between
(`position_left`), nobody does. A row is a batch that does not begin right behind the one before it. (Jepsen's Kafka
workload: skipped and nonmonotonic polls, within one poll.)
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('%s was given offset %d right behind %d', operation, base_offset, before) AS text,
  to_json(struct(operation, before, leader_epoch)) AS details
FROM leaps WHERE broker = giver AND leader_epoch = epoch
"""

READ_GAP = Check(
    name="read-gap",
    title="Reading leaves nothing out",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
    of_absence=True,
)
