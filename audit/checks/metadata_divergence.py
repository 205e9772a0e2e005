"""Metadata divergence: nodes of a KRaft quorum read different batches at one offset.

Below its high watermark every node, controller or broker, reads the same metadata log (Raft's state machine safety;
kraft-semantics 1.4). Each of them reads it from the beginning, once in each incarnation. A batch that a node has read
must be read by every node that gets beyond it: with the same offsets, epoch and digest. A row is the first offset of a
batch that some node has read. A node that got beyond it has another batch there, or none: a committed record was lost
or changed. Batches of no-op and control records alone are not compared, nor those below a snapshot that the node has
loaded.
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, '' AS topic, -1L AS partition, base_offset AS offset,
  format_string('the batch at offset %d of the metadata log, of epoch %d, was committed; %s read on without it',
    base_offset, min(epoch), array_join(sort_array(collect_set(lives.node)), ' and ')) AS text,
  to_json(struct(sort_array(collect_set(lives.node)) AS nodes, sort_array(collect_set(epoch)) AS epochs)) AS details
FROM (
  SELECT DISTINCT run, base_offset, offset AS end, epoch, digest FROM rest WHERE event = 'metadata_committed'
) AS batches
JOIN (
  SELECT run, node, incarnation, max(IF(event = 'metadata_committed', offset, -1L)) AS reached,
    max(IF(event = 'metadata_snapshot' AND action = 'loaded', offset, 0L)) AS loaded,
    collect_set(IF(event = 'metadata_committed', struct(base_offset, offset AS end, epoch, digest), NULL)) AS held
  FROM rest WHERE event IN ('metadata_committed', 'metadata_snapshot') GROUP BY run, node, incarnation
) AS lives USING (run)
WHERE reached >= end AND end > loaded AND NOT array_contains(held, struct(base_offset, end, epoch, digest))
GROUP BY run, base_offset
"""

CHECK = Check(
    name="metadata-divergence",
    title="What the quorum has committed stays",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="committed batches of the metadata log",
    subjects=lambda counts: counts["metadata_committed"],
    violations=VIOLATIONS,
    of_absence=True,
)
