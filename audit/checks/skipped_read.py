"""Skipped: from one leader to the next a consumer skips records.

As non-monotonic-read, in the other direction: a row is a batch that does not begin right behind the last offset that
the same operation read from the leader before, but further on, though the consumer never left its position. The skipped
records may exist or not: the check unseen covers acknowledged ones. (Jepsen's Kafka workload: skipped polls; a gap
within one leader's batches is a read-gap.)
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

CHECK = Check(
    name="skipped-read",
    title="A change of leader skips no record",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
    of_absence=True,
)
