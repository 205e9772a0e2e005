"""Tables of consumers' reads and groups' commits.

Each has few rows, or none, and is made once.

- `leaps`: batches of an operation that do not begin right behind the one before, without a change of position in
  between; `before`: the last offset of that one, `giver`, `epoch`: the broker that returned it, in which leader epoch
- `lost_reads`: batches that the final leader does not hold where they were read
- `doubtful_turns`: all reads of operations in one of the two; `stretch`: count of position changes before
- `group_operations`: commits and reads of committed offsets (`kind`: commit, committed), by `group_id`.
  `requested_offset`: the offset to commit. `offset`: the committed offset, or the one read. Begin and end have a time
  and a number in the node's incarnation. `store`: the group's coordinator (kafka) or ZooKeeper (znodes), which an old
  consumer uses instead of a broker. `foreign`: by a Kafka client. `outcome`, `store` null: it has not ended
"""

_TURNS = """
  SELECT run, operation, topic, partition, incarnation, seq, at_ms, base_offset, last_offset, leader_epoch, broker,
    digest
  FROM reads
  UNION ALL
  SELECT run, operation, topic, partition, incarnation, seq, at_ms, NULL, NULL, NULL, NULL, NULL
  FROM rest WHERE event = 'position_left'"""
"""Batches, and (base_offset null) the times at which a position was left."""

LEAPS = f"""
SELECT run, operation, topic, partition, base_offset, last_offset, leader_epoch, broker, digest, before, giver, epoch
FROM (
  SELECT *,
    lag(last_offset) OVER polled AS before, lag(broker) OVER polled AS giver, lag(leader_epoch) OVER polled AS epoch
  FROM (SELECT /*gather*/ * FROM ({_TURNS}))
  WINDOW polled AS (PARTITION BY run, operation, topic, partition ORDER BY incarnation, seq)
)
WHERE base_offset != before + 1
"""

HAD = """
  SELECT run, topic, partition, digest, base_offset, last_offset FROM logs WHERE leads AND base_offset IS NOT NULL
  UNION ALL SELECT run, topic, partition, digest, base_offset, last_offset FROM deleted"""
"""Batches that are not lost: the final leader has them, or they were deleted on request."""

LOST_READS = f"""
SELECT r.*
FROM (
  SELECT run, topic, partition, base_offset, digest, min(leader_epoch) AS leader_epoch, count(*) AS times,
    min(at_ms) AS first_ms, max(at_ms) AS last_ms
  FROM reads WHERE NOT gone GROUP BY run, topic, partition, base_offset, digest
) AS r
LEFT ANTI JOIN ({HAD}) AS log
  ON r.run = log.run AND r.topic = log.topic AND r.partition = log.partition
  AND r.digest = log.digest AND r.base_offset BETWEEN log.base_offset AND log.last_offset
"""

DOUBTFUL_TURNS = f"""
WITH doubtful AS (
  SELECT run, operation, topic, partition FROM leaps
  UNION SELECT run, operation, topic, partition
  FROM (SELECT * FROM reads WHERE NOT gone) LEFT SEMI JOIN (
    SELECT run, topic, partition, base_offset, digest FROM lost_reads) AS lost_reads
  USING (run, topic, partition, base_offset, digest)
)
SELECT * FROM (
  SELECT /*few(doubtful)*/ turns.*, count_if(base_offset IS NULL) OVER (
    PARTITION BY run, operation, topic, partition ORDER BY incarnation, seq) AS stretch
  FROM (SELECT /*gather*/ * FROM ({_TURNS})) AS turns LEFT SEMI JOIN doubtful USING (run, operation, topic, partition)
)
WHERE base_offset IS NOT NULL
"""

GROUP_OPERATIONS = """
SELECT /*few(invoked)*/ invoked.*, ended.outcome, ended.offset, ended.at_ms AS ended_ms, ended.seq AS ended_seq,
  IF(ended.broker >= 0, 'kafka', IF(ended.broker < 0, 'znodes', NULL)) AS store, coalesce(ended.gone, false) AS gone
FROM (
  SELECT run, operation, kind, value AS group_id, node, incarnation, seq AS begun_seq, at_ms AS begun_ms, topic,
    partition, offset AS requested_offset, coalesce(client, '') != '' AS foreign
  FROM invocations WHERE kind IN ('commit', 'committed')
) AS invoked
LEFT JOIN (
  SELECT run, operation, outcome, offset, at_ms, seq, broker, gone FROM operations WHERE kind IN ('commit', 'committed')
) AS ended USING (run, operation)
"""
