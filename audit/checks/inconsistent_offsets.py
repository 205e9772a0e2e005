"""Inconsistent: one offset was read with two different batches.

Every reader of an offset, from any broker at any time, receives the same batch. The check compares the reads of all
consumers in the whole run. A violation remains one if the first record was truncated and another one written in its
place, because a consumer has read the first. (A reset informs one consumer only.) Batches with equal bytes are equal,
also in different leader epochs. A row is a batch that begins within another batch that was read. (Jepsen's Kafka
workload: inconsistent offsets.)
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('the batch read at offset %d in leader epoch %d differs from the one read in leader epoch %d',
    base_offset, leader_epoch, before.leader_epoch) AS text,
  to_json(struct(digest, before.digest AS other_digest, array(before.leader_epoch, leader_epoch) AS epochs)) AS details
FROM (
  SELECT *, max(struct(last_offset, digest, leader_epoch)) OVER (
    PARTITION BY run, topic, partition ORDER BY base_offset, digest
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM (
    SELECT run, topic, partition, base_offset, digest, max(last_offset) AS last_offset,
      min(leader_epoch) AS leader_epoch
    FROM reads GROUP BY run, topic, partition, base_offset, digest
  )
)
WHERE before.last_offset >= base_offset AND before.digest != digest
"""

CHECK = Check(
    name="inconsistent-offsets",
    title="One offset is one record",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
)
