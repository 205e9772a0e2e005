"""Checkpoint ahead of the log: a replica is found whose checkpointed high watermark lies above the end of its log.

A broker writes down how far each of its replicas knows records to be committed (replication-offset-checkpoint), never
beyond what it has. Found above the log's end after a start, it says that committed records are gone from this disk:
cut below it, or forgotten when the power went, for a log is not synced before the checkpoint that speaks of it is
(semantics 3). Kafka takes the log's end instead and goes on. A row is a replica that was found so at one start.
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, log_end AS offset,
  format_string('%s, at the start of its life %d, had %d as checkpointed high watermark, and its log ended at %d',
    node, incarnation, checkpointed, log_end) AS text,
  to_json(struct(node, incarnation, checkpointed, log_end)) AS details
FROM rest WHERE event = 'log_loaded' AND checkpointed > log_end
"""

CHECKPOINT_AHEAD = Check(
    name="checkpoint-ahead",
    title="No checkpoint speaks of what is not there",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="logs found at a start",
    subjects=lambda counts: counts["log_loaded"],
    violations=VIOLATIONS,
    evidence="""
SELECT run, topic, partition, format_string('the events of %s do not tell its checkpoint', node) AS text
FROM rest WHERE event = 'log_loaded' AND checkpointed IS NULL
""",
)
