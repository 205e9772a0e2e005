"""High watermark above the log's end: a replica treats missing records as committed.

Committed records are in the log of every in-sync replica, including the leader. A follower's high watermark is at most
its log's end (semantics 1.5). The check takes the maxima of one incarnation of a broker: a replica's highest high
watermark must not be above its log's highest end. A row is such a replica and incarnation.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LOGS

_REPLICA = "run, node, incarnation, topic, partition"

VIOLATIONS = f"""
SELECT run, topic, partition, reached AS offset,
  format_string('%s, in incarnation %d, had a high watermark of %d, and its log never reached beyond %d',
    node, incarnation, high_watermark, reached) AS text,
  to_json(struct(node, incarnation, high_watermark, reached AS log_end)) AS details
FROM (
  SELECT {_REPLICA}, max(high_watermark) AS high_watermark, coalesce(max(log_end), 0L) AS reached
  FROM (
    SELECT /*gather*/ * FROM (
      SELECT {_REPLICA}, high_watermark, CAST(NULL AS BIGINT) AS log_end FROM watermarks
      UNION ALL SELECT {_REPLICA}, NULL, last_offset + 1 FROM appends
      UNION ALL SELECT {_REPLICA}, CASE WHEN event != 'log_truncated' THEN high_watermark END,
        -- wiped, to start elsewhere
        CASE WHEN event = 'log_truncated' AND reason = 'full' THEN greatest(`to`, log_end) ELSE log_end END
      FROM rest WHERE event IN ('log_loaded', 'log_truncated', 'role_changed')
    )
  )
  GROUP BY {_REPLICA}
)
WHERE high_watermark > reached
"""

CHECK = Check(
    name="high-watermark-above-log-end",
    title="No high watermark is above its log's end",
    definition=__doc__,
    levels=("replica",),
    needs=("high_watermark_moved",),
    subject="high watermark moves",
    subjects=lambda counts: counts["high_watermark_moved"] or counts["led_appends"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LOGS,
)
