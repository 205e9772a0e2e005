"""Out of range: a consumer's position has disappeared from the log.

A consumer gets to its position by its reads, by its group's committed offset, or by a request for the log's beginning
or end. All of these existed once. A leader that then has no such offset (OFFSET_OUT_OF_RANGE), or another history below
it (KIP-320), has lost it. The consumer then stops, or continues by `auto.offset.reset`, which reads records again or
skips them (Kafka's documentation of that setting). A row is such a position. A position that the client chose itself
before any read does not count, nor does one below which records were deleted on request.
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT lost.run, lost.topic, lost.partition, lost.offset,
  format_string('%s reached offset %d, which no longer exists: %s', lost.operation, lost.offset,
    lost.reason) AS text,
  to_json(struct(lost.operation, lost.reason, lost.stopped, lost.at_ms)) AS details
FROM invocations AS i JOIN (
  SELECT * FROM rest
  WHERE event = 'position_left' AND reason IN ('OffsetOutOfRangeException', 'LogTruncationException')
) AS lost
  ON i.run = lost.run AND i.operation = lost.operation
LEFT ANTI JOIN (SELECT * FROM rest WHERE event = 'log_start_moved' AND reason = 'requested') AS moved
  ON moved.run = lost.run AND moved.topic = lost.topic AND moved.partition = lost.partition
  AND lost.offset < moved.log_start AND moved.at_ms <= lost.at_ms
WHERE i.offset != lost.offset
"""

CHECK = Check(
    name="offset-out-of-range",
    title="A consumer's position exists",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="batches read and positions left",
    subjects=lambda counts: counts["records_read"] + counts["position_left"],
    violations=VIOLATIONS,
)
