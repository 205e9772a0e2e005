"""Above the high watermark: a consumer was given records that were not committed when the answer was made.

Each answer names the high watermark that it was made with, and holds only batches that end below it (semantics 1.5).
What lies above may still be cut: whoever acts on it acts on what may never have been. A row is one batch in one
answer.
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('%s was given offsets %d to %d with a high watermark of %d',
    operation, base_offset, last_offset, high_watermark) AS text,
  to_json(struct(operation, last_offset, high_watermark, leader_epoch)) AS details
FROM reads WHERE last_offset >= high_watermark
"""

READ_ABOVE_HIGH_WATERMARK = Check(
    name="read-above-high-watermark",
    title="Only what is committed is read",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
)
