"""Phantom: a batch that a consumer read and that no replica ever had.

A replica appended every batch that was read, with that digest at its offset, even if it was truncated later. A row is a
batch, for all its readers together. The incarnations of a topic count as one here, because a reader may be late during
a deletion.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LOGS

VIOLATIONS = """
SELECT r.run, r.topic, r.partition, r.base_offset AS offset,
  format_string('the batch read at offset %d (leader epoch %d; times read: %d) was on no replica',
    r.base_offset, r.leader_epoch, r.times) AS text,
  to_json(struct(r.digest, r.leader_epoch, r.times)) AS details
FROM (
  SELECT run, substring_index(topic, '#', 1) AS topic, partition, base_offset, digest,
    min(leader_epoch) AS leader_epoch, count(*) AS times
  FROM reads GROUP BY run, substring_index(topic, '#', 1), partition, base_offset, digest
) AS r
LEFT ANTI JOIN (
  SELECT run, substring_index(topic, '#', 1) AS topic, partition, base_offset, last_offset, digest FROM appends
) AS a
  ON r.run = a.run AND r.topic = a.topic AND r.partition = a.partition
  AND r.digest = a.digest AND r.base_offset BETWEEN a.base_offset AND a.last_offset
"""

CHECK = Check(
    name="phantom-read",
    title="Read records were written",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("batch_appended",),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LOGS,
)
