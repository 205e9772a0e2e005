"""Out of range: the position of a consumer is not in the log any more, though the cluster had led it there.

A consumer comes to its position by what it is given, by what its group has committed, or by asking where the log
begins or ends. All of that was there once; a leader that then has no such offset (OFFSET_OUT_OF_RANGE), or another
history below it (KIP-320), has lost it. The consumer goes on by `auto.offset.reset`, which reads again or leaves out
(Kafka's documentation of that setting), or stops. A row is a position that was left so. What a client asks for by
itself, and where nothing was given yet, is its own affair, and so is what was deleted below it on request.
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

OFFSET_OUT_OF_RANGE = Check(
    name="offset-out-of-range",
    title="Where reading has come to is there",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="batches read and positions left",
    subjects=lambda counts: counts["records_read"] + counts["position_left"],
    violations=VIOLATIONS,
)
