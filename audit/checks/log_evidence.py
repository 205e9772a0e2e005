"""Evidence of logs: a replica's log can be judged only if its events describe all of it.

A log has lost events (a process was killed before it wrote them) if its surviving batches do not follow one another
from its beginning, or do not reach a log end that was seen: checks that read it are unknown. So are those about a
record's survival where the final leader's disk was lost, or its unsynced data, and it has not started since. Half of
all checks need it, so it is a table of its own, `unreadable` (`audit.derived_tables`). It has a row for each
incompletely described log (`of_replica`), of which the final leader's is also `of_leader`. It has one for each
partition without any leader in the events, or whose leader's disk was lost (`of_leader`).
"""

UNREADABLE = """
SELECT run, topic, partition, true AS of_replica, leads AS of_leader,
  CASE WHEN first_offset != begins
    THEN format_string('the events of %s tell its log from offset %d, but it begins at %d', node, first_offset, begins)
    WHEN records != log_end - first_offset
    THEN format_string('the events of %s tell %d records between offsets %d and %d',
      node, records, first_offset, log_end)
    WHEN log_end < bound
    THEN format_string('the events of %s tell its log up to %d, but it reached %d', node, log_end, bound)
    ELSE format_string('the events of %s tell some offsets between %d and %d twice, and others not at all',
      node, first_offset, log_end)
  END AS text
FROM (
  SELECT run, node, topic, partition, leads,
    max(begins) AS begins,
    sum(records) AS records,
    bit_xor(ends) AS ends,
    min(first_offset) AS first_offset,
    coalesce(max(log_end), max(begins)) AS log_end,
    coalesce(max(bound), 0) AS bound
  FROM log_ranges GROUP BY run, node, topic, partition, leads
)
WHERE records != log_end - first_offset OR log_end < bound OR first_offset != begins
  OR (first_offset IS NOT NULL AND ends != xxhash64(first_offset) ^ xxhash64(log_end))
UNION ALL
SELECT led.run, topic, partition, false, true,
  format_string('no event has the log of %s since its %s', led.node, dead.what)
FROM (SELECT DISTINCT run, node, topic, partition FROM log_ranges WHERE leads) AS led
JOIN (
  SELECT run, node, max_by(what, at_ms) AS what
  FROM (
    SELECT run, at_ms, IF(event = 'node_started', node, target) AS node, IF(event = 'node_started', '', what) AS what
    FROM rest WHERE event = 'node_started'
      OR (event = 'machine_fault' AND what IN ('power-loss', 'lose-disk', 'lose-unsynced'))
  )
  GROUP BY run, node HAVING max_by(what, at_ms) != ''
) AS dead ON led.run = dead.run AND led.node = dead.node
UNION ALL
SELECT run, topic, partition, false, true, 'no event has the leader of this partition, or its log'
FROM log_ranges GROUP BY run, topic, partition HAVING NOT max(leads)
"""

UNREADABLE_LOGS = "SELECT run, topic, partition, text FROM unreadable WHERE of_replica"
"""SQL, evidence rows: one per replica whose events do not describe its log."""

UNREADABLE_LEADERS = "SELECT run, topic, partition, text FROM unreadable WHERE of_leader"
"""SQL, evidence rows: one per partition without a leader, or with its log incomplete."""
