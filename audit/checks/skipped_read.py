"""Skipped: from one leader to the next a consumer is not given what lies in between.

As non-monotonic-read, in the other direction: a row is a batch that does not begin right behind the last offset that
the same operation was given by the leader before, but further on, though the consumer never left its position. What it
was not given may be there, or not: unseen tells of records that were acknowledged. (Jepsen's Kafka workload: skipped
polls; what one leader leaves out is a read-gap.)
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string(
    '%s was given offset %d by broker %d in leader epoch %d, right behind %d by broker %d in leader epoch %d',
    operation, base_offset, broker, leader_epoch, before, giver, epoch) AS text,
  to_json(struct(operation, before, broker, leader_epoch)) AS details
FROM leaps WHERE base_offset > before + 1 AND NOT (broker = giver AND leader_epoch = epoch)
"""

SKIPPED_READ = Check(
    name="skipped-read",
    title="A change of leader leaves nothing out",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
    of_absence=True,
)
