"""Log matching: one offset of one leader epoch held two different batches.

An epoch has one leader, and a leader never writes an offset twice. So all batches of one epoch at one offset have the
same bytes, on every replica, at any time, even if they were truncated later. (KIP-101; the log matching property of
replicated logs.) Batches of formats without an epoch are ignored.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LOGS
from audit.suspect_offsets import AT

VIOLATIONS = f"""
SELECT run, topic, partition, base_offset AS offset,
  format_string('offset %d of leader epoch %d was written with different content: %d and %d',
    base_offset, leader_epoch, lowest, highest) AS text,
  to_json(struct(leader_epoch, array(lowest, highest) AS digests)) AS details
FROM (
  SELECT run, topic, partition, leader_epoch, base_offset, min(digest) AS lowest, max(digest) AS highest
  FROM (
    SELECT /*few(odd_places)*/ * FROM appends
    --big LEFT SEMI JOIN odd_places ON {AT} = place
    WHERE leader_epoch >= 0
  )
  GROUP BY run, topic, partition, leader_epoch, base_offset
)
WHERE lowest != highest
"""

CHECK = Check(
    name="log-matching",
    title="An epoch writes an offset once",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="batches appended",
    subjects=lambda counts: counts["batch_appended"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LOGS,
)
