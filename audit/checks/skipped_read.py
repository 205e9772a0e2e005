"""Skipped: from one leader to the next a consumer skips records.

The opposite of non-monotonic-read. A row is a batch that begins beyond the offset after the last one read from the
previous leader in the same operation. Markers of transactions, and at read_committed records of aborted ones, do not
count. The consumer has not left its position. The skipped records need not exist: the
check unseen covers acknowledged ones. (Jepsen's Kafka workload: skipped polls; a gap within one leader's batches is a
read-gap.)
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string(
    '%s was given offset %d by broker %d in leader epoch %d, right behind %d by broker %d in leader epoch %d',
    operation, base_offset, broker, leader_epoch, before, giver, epoch) AS text,
  to_json(struct(operation, before, broker, leader_epoch)) AS details
FROM leaps LEFT ANTI JOIN hidden_leaps USING (run, operation, topic, partition, base_offset, before)
WHERE base_offset > before + 1 AND NOT (broker = giver AND leader_epoch = epoch)
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
