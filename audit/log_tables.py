"""Final contents of every replica's log, folded from its appends and truncations.

- `logs`: batches that survived, and bounds: log ends that were seen
- `replicas`: of big runs, replicas whose log was created anew or truncated, or that lead in the end
- `log_ranges`: the same by replica and leader epoch, in numbers, and the log's beginning
- `deleted`: batches that were deleted on request, as the requested leader had them
"""

LOGS = """
-- Two kinds of rows per replica:
-- a batch that survived; `leads`: the replica is the partition's final leader, the last in the order of leader epochs;
-- a bound (base_offset null): a log end that was seen and never undercut, so the log must reach it.
-- In a big run these are of replicas that were cut: one that was not holds what it appended (LOGS_OF_BIG).
-- A batch survives when no later cut of the same replica reaches it: a truncation, or a log found shorter after a
-- restart (power loss), or made anew (another disk), or deleted. Kafka cuts whole batches, so one that is cut in the
-- middle is gone.
WITH cuts AS (
  SELECT run, node, topic, partition, incarnation, seq,
    CASE WHEN event = 'log_loaded' THEN log_end
         WHEN event IN ('log_created', 'log_deleted') THEN 0L
         WHEN reason = 'full' THEN 0L  -- wiped, to start elsewhere
         ELSE least(`to`, log_end) END AS cut
  FROM rest WHERE event IN ('log_created', 'log_deleted', 'log_loaded', 'log_truncated')
),
--big cut_replicas AS (SELECT run, node, topic, partition FROM replicas WHERE cut),
folded AS (
  SELECT *, min(cut) OVER (PARTITION BY run, node, topic, partition ORDER BY incarnation DESC, seq DESC
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS lowest_cut
  FROM (
    SELECT /*gather*/ * FROM (
      SELECT /*few(cut_replicas)*/ run, node, topic, partition, incarnation, seq, base_offset, last_offset,
        leader_epoch, digest, CAST(NULL AS BIGINT) AS cut
      FROM appends
      --big LEFT SEMI JOIN cut_replicas USING (run, node, topic, partition)
      UNION ALL
      SELECT run, node, topic, partition, incarnation, seq, NULL, NULL, NULL, NULL, cut FROM cuts
      --big LEFT SEMI JOIN cut_replicas USING (run, node, topic, partition)
    )
  )
),
leaders AS (
  SELECT run, topic, partition, max(struct(leader_epoch, node)).node AS leader
  FROM rest WHERE event = 'role_changed' AND role = 'leader' GROUP BY run, topic, partition
)
SELECT /*few(leaders)*/ folded.run, node, folded.topic, folded.partition, base_offset, last_offset, leader_epoch,
  digest,
  CASE WHEN cut IS NOT NULL THEN lowest_cut END AS bound, coalesce(leader = node, false) AS leads
FROM folded LEFT JOIN leaders
  ON folded.run = leaders.run AND folded.topic = leaders.topic AND folded.partition = leaders.partition
WHERE cut IS NOT NULL OR lowest_cut IS NULL OR lowest_cut > last_offset
"""

REPLICAS = """
-- `cut`: not all that it appended need be there; `made`: when its log was, where it was made once and never cut, which
-- is before its first batch
SELECT run, node, topic, partition, coalesce(times > 1 OR cut, false) AS cut,
  IF(times > 1 OR cut, NULL, made) AS made, coalesce(leads, false) AS leads
FROM (
  SELECT run, node, topic, partition, count(*) AS times, max(event != 'log_created') AS cut,
    max(struct(incarnation, seq)) AS made
  FROM rest WHERE event IN ('log_created', 'log_deleted', 'log_loaded', 'log_truncated')
  GROUP BY run, node, topic, partition
)
FULL JOIN (
  SELECT run, max(struct(leader_epoch, node)).node AS node, topic, partition, true AS leads
  FROM rest WHERE event = 'role_changed' AND role = 'leader' GROUP BY run, topic, partition
) USING (run, node, topic, partition)
"""

LOGS_OF_BIG = """
-- `cut_logs`: LOGS, of the replicas that were cut
SELECT * FROM cut_logs
UNION ALL
SELECT /*few(replicas)*/ a.run, a.node, a.topic, a.partition, base_offset, last_offset, leader_epoch, digest, NULL,
  coalesce(leads, false)
FROM appends AS a LEFT JOIN replicas
  ON a.run = replicas.run AND a.node = replicas.node AND a.topic = replicas.topic AND a.partition = replicas.partition
WHERE NOT coalesce(cut OR a.incarnation < made.incarnation OR (a.incarnation = made.incarnation AND a.seq < made.seq),
  false)
UNION ALL
SELECT run, node, topic, partition, NULL, NULL, NULL, NULL, 0L, leads FROM replicas WHERE made IS NOT NULL
"""

DELETED = """
-- Batches that were deleted on request (DeleteRecords): what the leader that was asked had then, below where its log
-- begins since. `last_offset`: of what of them is deleted. What it had lost by then was not deleted.
WITH moves AS (
  SELECT run, node, topic, partition, log_start, struct(incarnation, seq) AS moved
  FROM rest WHERE event = 'log_start_moved' AND reason = 'requested'
),
had AS (
  SELECT /*few(moves)*/ appends.run, appends.node, appends.topic, appends.partition, digest, base_offset, last_offset,
    struct(appends.incarnation, appends.seq) AS appended, moved, log_start
  FROM appends JOIN moves
    ON appends.run = moves.run AND appends.node = moves.node AND appends.topic = moves.topic
    AND appends.partition = moves.partition AND base_offset < log_start
    AND struct(appends.incarnation, appends.seq) < moved
),
cuts AS (
  SELECT run, node, topic, partition, struct(incarnation, seq) AS at,
    CASE WHEN event = 'log_loaded' THEN log_end
         WHEN event IN ('log_created', 'log_deleted') OR reason = 'full' THEN 0L
         ELSE least(`to`, log_end) END AS cut
  FROM rest WHERE event IN ('log_created', 'log_deleted', 'log_loaded', 'log_truncated')
)
SELECT DISTINCT had.run, had.topic, had.partition, digest, base_offset, least(last_offset, log_start - 1) AS last_offset
FROM had LEFT ANTI JOIN cuts
  ON had.run = cuts.run AND had.node = cuts.node AND had.topic = cuts.topic AND had.partition = cuts.partition
  AND had.appended < cuts.at AND cuts.at < had.moved AND had.last_offset >= cuts.cut
"""

LOG_RANGES = """
-- `begins`: where a log begins: not at 0 if it was wiped to start elsewhere, or found so. Deleted records are told as
-- if they were there; `kept_from`: where it begins for readers.
-- `ends`: of the batches, each as its two ends; those that two batches share fall out, so what is left of batches that
-- follow one another are the first and the last
-- `begins_at`: a compressed message set of before 0.11 is taken whole by a follower that has its beginning already
SELECT ranges.*, coalesce(begins, 0L) AS begins, coalesce(kept_from, 0L) AS kept_from
FROM (
  SELECT run, node, topic, partition, leads, leader_epoch,
    sum(last_offset - begins_at + 1) AS records, min(begins_at) AS first_offset, max(last_offset) + 1 AS log_end,
    coalesce(bit_xor(xxhash64(begins_at) ^ xxhash64(last_offset + 1)), 0L) AS ends,
    max(bound) AS bound
  FROM (
    SELECT *, base_offset AS begins_at FROM logs WHERE coalesce(leader_epoch, 0L) >= 0
    UNION ALL
    SELECT * EXCEPT (before), IF(before BETWEEN base_offset AND last_offset - 1, before + 1, base_offset)
    FROM (
      SELECT *, max(last_offset) OVER (PARTITION BY run, node, topic, partition ORDER BY last_offset
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM logs WHERE leader_epoch < 0
    )
  )
  GROUP BY run, node, topic, partition, leads, leader_epoch
) AS ranges
LEFT JOIN (
  SELECT run, node, topic, partition, max_by(
    CASE WHEN event = 'log_loaded' THEN log_start WHEN event = 'log_truncated' THEN `to` ELSE 0L END,
    struct(incarnation, seq)) AS begins
  FROM (
    SELECT *, max(event = 'log_start_moved') OVER (PARTITION BY run, node, topic, partition ORDER BY incarnation, seq
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS has_deleted
    FROM rest WHERE event IN ('log_created', 'log_deleted', 'log_loaded', 'log_start_moved')
      OR (event = 'log_truncated' AND reason = 'full')
  )
  -- a log that is found without what was deleted from it has not lost that
  WHERE event != 'log_start_moved' AND NOT (event = 'log_loaded' AND has_deleted)
  GROUP BY run, node, topic, partition
) USING (run, node, topic, partition)
LEFT JOIN (
  SELECT run, node, topic, partition, max(log_start) AS kept_from FROM rest WHERE event = 'log_start_moved'
  GROUP BY run, node, topic, partition
) USING (run, node, topic, partition)
"""
