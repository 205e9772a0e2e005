"""Gap: what one operation was given is not one unbroken piece of the log.

What one broker gives a consumer's operation of one leader epoch, batch after batch, leaves no record out, gives none
twice, and none before an earlier one; nothing is compacted or deleted behind the reader here. Where the broker or the
epoch is another, the consumer's position may have been reset in between, as it asked for. A row is a batch that does
not begin right behind the one before it. (Jepsen's Kafka workload: skipped and nonmonotonic polls, within one poll.)
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('%s was given offset %d right behind %d', operation, base_offset, before) AS text,
  to_json(struct(operation, before, leader_epoch)) AS details
FROM (
  SELECT *,
    lag(last_offset) OVER polled AS before, lag(broker) OVER polled AS giver, lag(leader_epoch) OVER polled AS epoch
  FROM reads
  WINDOW polled AS (PARTITION BY run, operation, topic, partition ORDER BY incarnation, seq)
)
WHERE base_offset != before + 1 AND broker = giver AND leader_epoch = epoch
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
)
