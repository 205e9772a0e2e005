"""Regression of a committed offset: a group finds less committed than it was told to have committed.

Whoever looks what a group has committed is told what was committed last (Kafka's OffsetCommit and OffsetFetch: a
coordinator answers with what its log holds). A look goes back when it finds less than the last commit that had been
acknowledged before it began, and no commit of what was found can have come after that one: each of them was over when
that one began, or certainly failed. A client that commits less than before has gone back itself. A group has two stores
if old consumers use its name, too: the session service knows nothing of what a coordinator was told, and neither does
that of it; a look is held against the store that was asked. (One that never ended may have been in either.) A row is a
look. Where two coordinators are at work at once (an isolated one, and its successor), the older answers with the past:
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
  AND (c.store = fell.store OR c.store IS NULL) AND c.asked = fell.offset AND c.begun_ms <= fell.ended_ms
  AND (c.outcome IS NULL OR c.outcome = 'unknown' OR (c.outcome = 'ok' AND c.ended_ms > fell.last.begun_ms))
"""

COMMITTED_OFFSET_REGRESSION = Check(
    name="committed-offset-regression",
    title="What a group has committed stays committed",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="looks at what is committed",
    subjects=lambda counts: counts["looks"],
    violations=VIOLATIONS,
)
