"""Non-monotonic: from one leader to the next a consumer is given again what it had.

A consumer that goes on with another broker, or in another leader epoch, reads on where it was, unless it was told that
its position is none and left it (`position_left`: out of range, or the history that it has read was cut off, KIP-320).
A row is a batch that begins at or before the last offset that the same operation was given by the leader before.
(Jepsen's Kafka workload: nonmonotonic polls; what one leader gives out of order is a read-gap.)
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('%s was given offset %d by broker %d in leader epoch %d, after %d by broker %d in leader epoch %d',
    operation, base_offset, broker, leader_epoch, before, giver, epoch) AS text,
  to_json(struct(operation, before, broker, leader_epoch)) AS details
FROM leaps WHERE base_offset <= before AND NOT (broker = giver AND leader_epoch = epoch)
"""

NON_MONOTONIC_READ = Check(
    name="non-monotonic-read",
    title="Reading goes forward",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
)
