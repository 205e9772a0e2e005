"""Regression: the limit of readable records moves back, or a read record changes.

Within one leader epoch the leader's high watermark only rises (semantics 1.5). A restarted leader of the same epoch
begins with its checkpoint, which is no move (KRaft). And an exposed record never changes: one offset read twice must
have the same (leader epoch, digest).
"""

from audit.checks.check import Check
from audit.monotonic_runs import LEADER, disordered_of

# In a big run those leaders are looked at that may have moved back.
_MOVED_BACK = f"""
SELECT run, topic, partition, high_watermark AS offset,
  format_string('%s, leader of epoch %d, moved its high watermark back from %d to %d',
    node, leader_epoch, reached, high_watermark) AS text,
  to_json(struct(node, leader_epoch, reached AS was, high_watermark AS now, at_ms)) AS details
FROM (
  SELECT *, max(high_watermark) OVER (
    PARTITION BY run, node, topic, partition, leader_epoch ORDER BY incarnation, seq
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM (
    SELECT /*few(disordered)*/ * FROM watermarks
    --big {disordered_of("leader", LEADER)}
    WHERE leading
  )
)
WHERE high_watermark < reached
"""

_READ_DIFFERENTLY = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('offset %d was read with different content, of leader epochs %d and %d',
    base_offset, shiftright(lowest, 32), shiftright(highest, 32)) AS text,
  to_json(struct(array(shiftright(lowest, 32), shiftright(highest, 32)) AS epochs)) AS details
FROM (
  SELECT run, topic, partition, base_offset,
    min(shiftleft(leader_epoch, 32) + digest) AS lowest, max(shiftleft(leader_epoch, 32) + digest) AS highest
  FROM reads GROUP BY run, topic, partition, base_offset
)
WHERE lowest != highest
"""

CHECK = Check(
    name="high-watermark-regression",
    title="Readable records stay readable",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("high_watermark_moved",),
    subject="high watermark moves and reads",
    # Records that a leader appended are exposed sooner or later: appends alone mean that moves were not recorded.
    subjects=lambda counts: counts["led_watermarks"] + counts["records_read"] or counts["led_appends"],
    violations=f"{_MOVED_BACK} UNION ALL {_READ_DIFFERENTLY}",
)
