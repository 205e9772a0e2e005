"""Whether a replica's log can be judged: its events must tell all of it.

A log whose surviving batches do not cover every offset between the first and the last, or do not reach a log end that
was seen, has lost events (a process that was killed before it wrote them): checks that read it cannot say.
"""

_UNREADABLE = """
SELECT run, topic, partition,
  CASE WHEN records != log_end - first_offset
    THEN format_string('the events of %s tell %d records between offsets %d and %d',
      node, records, first_offset, log_end)
    ELSE format_string('the events of %s tell its log up to %d, but it reached %d', node, log_end, bound)
  END AS text
FROM (
  SELECT run, node, topic, partition,
    sum(records) AS records,
    min(first_offset) AS first_offset,
    coalesce(max(log_end), 0) AS log_end,
    coalesce(max(bound), 0) AS bound
  FROM log_ranges WHERE {which} GROUP BY run, node, topic, partition
)
WHERE records != log_end - first_offset OR log_end < bound
"""

UNREADABLE_LOGS = _UNREADABLE.format(which="true")
"""Evidence rows: one per replica whose events do not tell its log."""

UNREADABLE_LEADERS = f"""
{_UNREADABLE.format(which="leads")}
UNION ALL
SELECT run, topic, partition, 'no event tells who led this partition, or its log is not told' AS text
FROM log_ranges GROUP BY run, topic, partition HAVING NOT max(leads)
"""
"""Evidence rows: one per partition whose final leader's log is not told, or that never had a leader."""
