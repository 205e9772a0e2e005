"""Regression of a committed offset: a group reads a lower offset than was acknowledged.

A group that reads its committed offset gets the last one committed (Kafka's OffsetCommit and OffsetFetch: a coordinator
returns the contents of its log). A read goes back when two conditions hold. It finds less than the last commit that had
been acknowledged before it began. No commit of the found offset can have come after that one: each of them had ended
when that one began, or certainly failed. A client that commits less than before has gone back itself. A group has two
stores if old consumers use its name, too: ZooKeeper does not know a coordinator's commits, nor the coordinator
ZooKeeper's. A read is compared with the store that it used. (A commit that never ended may be in either.) A row is a
read. Where two coordinators are active at once (an isolated one, and its successor), the older returns old offsets:
Kafka does not fence it.
"""

from audit.checks.check import Check

# Of one client what is earlier is known by its numbers; of two, by the scenario's clock.
VIOLATIONS = """
WITH looks AS (SELECT * FROM group_operations WHERE kind = 'committed' AND outcome = 'ok'),
commits AS (SELECT * FROM group_operations WHERE kind = 'commit'),
fell AS (
  SELECT * FROM (
    SELECT looks.run, looks.topic, looks.partition, looks.group_id, looks.store, looks.operation, looks.offset,
      looks.ended_ms, max(struct(c.ended_ms, c.ended_seq, c.offset, c.begun_ms, c.operation)) AS last
    FROM looks JOIN commits AS c
      ON looks.run = c.run AND looks.topic = c.topic AND looks.partition = c.partition AND looks.group_id = c.group_id
      AND looks.store = c.store
    WHERE c.outcome = 'ok' AND (c.ended_ms < looks.begun_ms OR (c.node = looks.node
      AND struct(c.incarnation, c.ended_seq) < struct(looks.incarnation, looks.begun_seq)))
    GROUP BY looks.run, looks.topic, looks.partition, looks.group_id, looks.store, looks.operation, looks.offset,
      looks.ended_ms
  )
  WHERE offset < last.offset
)
SELECT fell.run, fell.topic, fell.partition, fell.offset,
  format_string('%s found offset %d committed by group %s, after %s had committed %d', fell.operation, fell.offset,
    fell.group_id, fell.last.operation, fell.last.offset) AS text,
  to_json(struct(fell.operation, fell.group_id AS `group`, fell.last.operation AS committed_by,
    fell.last.offset AS committed)) AS details
FROM fell LEFT ANTI JOIN commits AS c
  ON c.run = fell.run AND c.topic = fell.topic AND c.partition = fell.partition AND c.group_id = fell.group_id
  AND (c.store = fell.store OR c.store IS NULL) AND c.requested_offset = fell.offset AND c.begun_ms <= fell.ended_ms
  AND (c.outcome IS NULL OR c.outcome = 'unknown' OR (c.outcome = 'ok' AND c.ended_ms > fell.last.begun_ms))
"""

CHECK = Check(
    name="committed-offset-regression",
    title="What a group has committed stays committed",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="reads of committed offsets",
    subjects=lambda counts: counts["looks"],
    violations=VIOLATIONS,
)
