"""Above the high watermark: a response has records that were not committed at its time.

Each response has the high watermark of its time, and only batches that end below it (semantics 1.5). Records above it
may still be truncated, so a consumer may act on records that never were. A row is one batch in one response.
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('%s was given offsets %d to %d with a high watermark of %d',
    operation, base_offset, last_offset, high_watermark) AS text,
  to_json(struct(operation, last_offset, high_watermark, leader_epoch)) AS details
FROM reads WHERE last_offset >= high_watermark
"""

CHECK = Check(
    name="read-above-high-watermark",
    title="Only committed records are read",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
)
