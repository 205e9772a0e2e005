"""Gap: the batches that one operation read are not one unbroken piece of the log.

The batches that one broker returns to a consumer's operation in one leader epoch are consecutive: none is skipped,
repeated or out of order. (The emulator compacts no log.) Markers of transactions, and at read_committed records of
aborted ones, do not count. If the broker or the epoch changes, non-monotonic-read and
skipped-read judge. If the consumer left its position in between (`position_left`), no check judges. A row is a batch
that does not begin right after the one before it. (Jepsen's Kafka workload: skipped and nonmonotonic polls, within one
poll.)
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('%s was given offset %d right behind %d', operation, base_offset, before) AS text,
  to_json(struct(operation, before, leader_epoch)) AS details
FROM leaps LEFT ANTI JOIN hidden_leaps USING (run, operation, topic, partition, base_offset, before)
WHERE broker = giver AND leader_epoch = epoch
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
