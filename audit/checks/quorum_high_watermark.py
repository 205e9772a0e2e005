"""Quorum high watermark: a node's high watermark falls, or its metadata log ends below it.

What lies below the high watermark is committed, and the node's state machine has read it. So within an incarnation the
high watermark never falls, and no truncation cuts below it; Kafka ends the process instead (kraft-semantics 1.3, 1.4).
A new leader's high watermark is unknown until it has committed a record of its own epoch, which is no fall. A row is an
incarnation of a controller or broker.
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, '' AS topic, -1L AS partition, min_by(reached, seq) AS offset,
  format_string('%s, in incarnation %d, had a high watermark of %d in the metadata log, and then %d', node, incarnation,
    min_by(highest, seq), min_by(reached, seq)) AS text,
  to_json(struct(node, incarnation, min_by(highest, seq) AS was, min_by(reached, seq) AS now)) AS details
FROM (
  SELECT run, node, incarnation, seq,
    IF(high_watermark >= 0, least(high_watermark, log_end), log_end) AS reached,
    greatest(highest_watermark, max(IF(event = 'metadata_committed', offset, -1L)) OVER (
      PARTITION BY run, node, incarnation ORDER BY seq)) AS highest, event
  FROM rest WHERE event IN ('quorum_state_changed', 'metadata_committed')
)
WHERE event = 'quorum_state_changed' AND reached < highest
GROUP BY run, node, incarnation
"""

CHECK = Check(
    name="quorum-high-watermark",
    title="The quorum's high watermark never falls",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="states of the quorum's nodes",
    subjects=lambda counts: counts["quorum_state_changed"],
    violations=VIOLATIONS,
)
