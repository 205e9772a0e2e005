"""Gap: what one operation was given is not one unbroken piece of the log.

The batches of a consumer's operation follow one another without a record left out, given twice, or given before an
earlier one; nothing is compacted or deleted behind the reader here. A row is a batch that does not begin right behind
the one before it. (Jepsen's Kafka workload: skipped and nonmonotonic polls, within one poll.)
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('%s was given offset %d right behind %d', operation, base_offset, before) AS text,
  to_json(struct(operation, before, leader_epoch)) AS details
FROM (
  SELECT *, lag(last_offset) OVER (PARTITION BY run, operation, topic, partition ORDER BY incarnation, seq) AS before
  FROM reads
)
WHERE base_offset != before + 1
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
