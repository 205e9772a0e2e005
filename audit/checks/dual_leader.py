"""Dual leader: a leader appends records although the partition has a newer leader elsewhere.

The check compares every leader's term of one leader epoch with those of later epochs on other brokers. If they overlap,
the older leader is stale. It truncates the records that it appends meanwhile, and acknowledges with acks=1, when it
learns of its successor. A row is one such overlap with appends. It has both brokers and epochs, the count of batches
that the stale leader appended, and the count of their acknowledged records. An overlap without appends does not count:
a replaced leader leads on for the milliseconds until it learns of the election, which Kafka cannot avoid.
"""

from audit.checks.check import Check
from audit.leadership_terms import HOW_LONG

_WINDOW = "topic, partition, stale, stale_epoch, newer, newer_epoch, from_ms, to_ms"

# The windows are few: the appends and answers they are compared with stay where they are.
VIOLATIONS = f"""
WITH windows AS (SELECT * FROM overlaps WHERE office = 'leader'),
appended AS (
  SELECT /*few(windows)*/ windows.*, a.digest, a.base_offset, a.last_offset
  FROM appends AS a JOIN windows
    ON a.run = windows.run AND a.topic = windows.topic AND a.partition = windows.partition AND a.node = windows.stale
    AND a.at_ms >= windows.from_ms AND a.at_ms <= coalesce(windows.to_ms, double('infinity'))
  WHERE a.as_leader
),
answered AS (
  SELECT /*few(appended)*/ appended.*, o.records
  FROM operations AS o JOIN appended
    ON o.run = appended.run AND o.topic = appended.topic AND o.partition = appended.partition
    AND o.digest = appended.digest
    AND (o.offset < 0 OR o.offset BETWEEN appended.base_offset AND appended.last_offset)
  WHERE o.kind = 'produce' AND o.outcome = 'ok'
)
SELECT run, topic, partition, -1L AS offset,
  format_string('%s (epoch %d) went on leading after %s (epoch %d) had begun, %s: %d batches appended, %d records '
    || 'acknowledged',
    stale, stale_epoch, newer, newer_epoch, {HOW_LONG}, batches, acknowledged) AS text,
  to_json(struct(stale, stale_epoch, newer, newer_epoch, from_ms, to_ms, batches, acknowledged)) AS details
FROM (
  SELECT run, {_WINDOW}, sum(batches) AS batches, sum(acknowledged) AS acknowledged
  FROM (
    SELECT /*gather*/ * FROM (
      SELECT run, {_WINDOW}, 1L AS batches, 0L AS acknowledged FROM appended
      UNION ALL SELECT run, {_WINDOW}, 0L, records FROM answered
    )
  )
  GROUP BY run, {_WINDOW}
)
"""

CHECK = Check(
    name="dual-leader",
    title="One leader at a time",
    definition=__doc__,
    levels=("replica",),
    needs=("role_changed",),
    subject="role changes",
    subjects=lambda counts: counts["role_changed"] or counts["led_appends"],
    violations=VIOLATIONS,
)
