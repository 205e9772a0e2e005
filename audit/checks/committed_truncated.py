"""Committed, truncated: a replica truncates records that it knew to be committed.

All records below a high watermark were on every in-sync replica, and consumers may have read them. A replica breaks a
promise if it truncates its log below a high watermark that it has had in any incarnation of its process. If it leads
next, or too few other replicas have the records, they are lost. (KIP-101; TLA+ of Kafka's replication, WeakIsr and
StrongIsr: every in-sync replica has all records below the high watermark.)

- A power loss or a lost disk is no truncation. Nor is the deletion of a log that begins anew at its leader's log start.
- A high watermark that came with the truncation does not count. Up to 3.3 a follower adopts its leader's high watermark
  from the same response that causes the truncation.
- A high watermark of an earlier input counts, even at the same time. One that the replica has after the truncation
  counts for the next one.

A row is one truncation. Kafka truncates so after an unclean election. It also does before 0.11, where followers
truncate to the checkpointed high watermark.
"""

from audit.checks.check import Check

_REPLICA = "run, node, topic, partition"

# The replica's story in parts, each from one cut (of whatever kind) to the next: few, so that they can be folded.
VIOLATIONS = f"""
WITH cuts AS (
  SELECT {_REPLICA}, incarnation, seq, at_ms, cause, log_end,
    CASE WHEN event IN ('log_created', 'log_deleted') THEN 0L WHEN event = 'log_loaded' THEN log_end
      WHEN reason = 'full' THEN `to` ELSE least(`to`, log_end) END AS cut,
    event = 'log_truncated' AND reason != 'full' AND `to` < log_end AS judged
  FROM rest WHERE event IN ('log_created', 'log_deleted', 'log_loaded', 'log_truncated')
),
cut_replicas AS (SELECT DISTINCT {_REPLICA} FROM cuts WHERE judged),
-- the events of one step have one time and one cause; a node that was stalled takes many inputs at one time
cut_steps AS (
  SELECT {_REPLICA}, incarnation, at_ms, cause, max(seq) AS cut_seq, min(cut) AS left_by_it
  FROM cuts WHERE judged GROUP BY {_REPLICA}, incarnation, at_ms, cause
),
parts AS (
  SELECT {_REPLICA}, part, max(cut) AS cut, max(log_end) AS log_end, coalesce(max(judged), false) AS judged,
    coalesce(max(high_watermark), 0L) AS high_watermark
  FROM (
    SELECT *, count(cut) OVER (PARTITION BY {_REPLICA} ORDER BY incarnation, seq) AS part
    FROM (
      SELECT /*gather*/ * FROM (
        SELECT {_REPLICA}, incarnation, seq, cut, log_end, judged, CAST(NULL AS BIGINT) AS high_watermark FROM cuts
        UNION ALL
        -- what came with a cut and before it counts as what the cut left of it
        SELECT /*few(cut_replicas)*/ {_REPLICA}, incarnation, greatest(seq, coalesce(cut_seq, seq)), NULL, NULL, NULL,
          IF(seq < cut_seq, least(high_watermark, left_by_it), high_watermark)
        FROM (
          SELECT {_REPLICA}, incarnation, seq, at_ms, cause, high_watermark FROM watermarks
          UNION ALL
          SELECT {_REPLICA}, incarnation, seq, at_ms, cause, high_watermark FROM rest WHERE event = 'role_changed'
        )
        LEFT SEMI JOIN cut_replicas USING ({_REPLICA})
        LEFT JOIN cut_steps USING ({_REPLICA}, incarnation, at_ms, cause)
      )
    )
  )
  GROUP BY {_REPLICA}, part
)
SELECT run, topic, partition, one.cut AS offset,
  format_string('%s cut its log from %d to %d, and had had a high watermark of %d',
    node, one.log_end, one.cut, one.known) AS text,
  to_json(struct(node, one.log_end, one.cut AS `to`, one.known AS high_watermark)) AS details
FROM (
  SELECT {_REPLICA}, explode(aggregate(
    sort_array(collect_list(struct(part, cut, log_end, judged, high_watermark))),
    named_struct('known', 0L,
      'found', CAST(array() AS ARRAY<STRUCT<cut: BIGINT, log_end: BIGINT, known: BIGINT>>)),
    (so_far, one) -> named_struct(
      'known', greatest(least(so_far.known, coalesce(one.cut, so_far.known)), one.high_watermark),
      'found', IF(one.judged AND one.cut < so_far.known,
        array_append(so_far.found, named_struct('cut', one.cut, 'log_end', one.log_end, 'known', so_far.known)),
        so_far.found)),
    so_far -> so_far.found)) AS one
  FROM parts GROUP BY {_REPLICA}
)
"""

CHECK = Check(
    name="committed-truncated",
    title="Committed records are not truncated",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="batches appended",
    subjects=lambda counts: counts["batch_appended"],
    violations=VIOLATIONS,
)
