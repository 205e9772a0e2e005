"""Whether a replica's log can be judged: its events must tell all of it.

A log whose surviving batches do not follow one another from where it begins, or do not reach a log end that was seen,
has lost events (a process that was killed before it wrote them): checks that read it cannot say.
"""

_UNREADABLE = """
SELECT run, topic, partition,
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
  SELECT run, node, topic, partition,
    max(begins) AS begins,
    sum(records) AS records,
    bit_xor(ends) AS ends,
    min(first_offset) AS first_offset,
    coalesce(max(log_end), max(begins)) AS log_end,
    coalesce(max(bound), 0) AS bound
  FROM log_ranges WHERE {which} GROUP BY run, node, topic, partition
)
WHERE records != log_end - first_offset OR log_end < bound OR first_offset != begins
  OR (first_offset IS NOT NULL AND ends != xxhash64(first_offset) ^ xxhash64(log_end))
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
