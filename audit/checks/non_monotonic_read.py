"""Non-monotonic: from one leader to the next a consumer reads records again.

A consumer that goes on with another broker, or in another leader epoch, continues at its position. The exception is a
position that it left because the broker rejected it (`position_left`: out of range, or truncated history, KIP-320). A
row is a batch that begins at or before the last offset that the same operation read from the leader before. (Jepsen's
Kafka workload: nonmonotonic polls; disorder within one leader's batches is a read-gap.)
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('%s was given offset %d by broker %d in leader epoch %d, after %d by broker %d in leader epoch %d',
    operation, base_offset, broker, leader_epoch, before, giver, epoch) AS text,
  to_json(struct(operation, before, broker, leader_epoch)) AS details
FROM leaps WHERE base_offset <= before AND NOT (broker = giver AND leader_epoch = epoch)
"""

CHECK = Check(
    name="non-monotonic-read",
    title="Reading goes forward",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
)
