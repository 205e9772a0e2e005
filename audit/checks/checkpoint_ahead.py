"""Checkpoint ahead of the log: a checkpointed high watermark lies above the log's end.

A broker writes each replica's high watermark to its disk (replication-offset-checkpoint), never above the log's end. If
it is above the end after a start, this disk has lost committed records. They were truncated, or lost by a power loss,
because a log is not synced before its checkpoint (semantics 3). Kafka takes the log's end instead and continues. A row
is a replica in that state at one start.
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, log_end AS offset,
  format_string('%s, at the start of incarnation %d, had %d as checkpointed high watermark, and its log ended at %d',
    node, incarnation, checkpointed, log_end) AS text,
  to_json(struct(node, incarnation, checkpointed, log_end)) AS details
FROM rest WHERE event = 'log_loaded' AND checkpointed > log_end
"""

CHECK = Check(
    name="checkpoint-ahead",
    title="No checkpoint is ahead of its log",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="logs found at a start",
    subjects=lambda counts: counts["log_loaded"],
    violations=VIOLATIONS,
    evidence="""
SELECT run, topic, partition, format_string('the events of %s do not have its checkpoint', node) AS text
FROM rest WHERE event = 'log_loaded' AND checkpointed IS NULL
""",
)
