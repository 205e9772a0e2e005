"""What was acknowledged and the final leader does not have, who had it, and what that leader has more than once: tables
that checks read. Each has few rows, unless much was lost or copied.

- `lost`: produces that ended `ok`, none of whose bytes are in the final leader's log where they were promised to be
  (acks=0 promises no place: nowhere), nor were deleted on request
- `lost_copies`: the batches that a replica once appended at their place, whatever became of them
- `reused_sequences`: those of `lost` that no replica ever appended, for their producer had used their sequence numbers
  for other records, whose offset it was answered with
- `copied`: batches of the final leader's log under a digest that it has more than once: how many `copies` and records,
  the first and the last offset; coordinators' own, which nobody has produced, are none
"""

from audit.given import HAD

LOST = f"""
SELECT o.run, o.topic, o.partition, o.offset, o.operation, o.acks, o.digest, o.at_ms
FROM operations AS o
LEFT ANTI JOIN ({HAD}) AS log
  ON o.run = log.run AND o.topic = log.topic AND o.partition = log.partition AND o.digest = log.digest
  AND (o.offset < 0 OR o.offset BETWEEN log.base_offset AND log.last_offset)
WHERE kind = 'produce' AND outcome = 'ok' AND NOT gone
"""

LOST_COPIES = """
SELECT /*few(lost)*/ lost.run, lost.topic, lost.partition, lost.offset, lost.operation, lost.digest, appends.node,
  appends.incarnation, appends.seq, appends.last_offset, appends.leader_epoch
FROM appends JOIN lost
  ON appends.run = lost.run AND appends.topic = lost.topic AND appends.partition = lost.partition
  AND appends.digest = lost.digest AND lost.offset BETWEEN appends.base_offset AND appends.last_offset
"""

REUSED_SEQUENCES = """
SELECT /*few(answered)*/ DISTINCT lost.run, lost.topic, lost.partition, lost.offset, lost.operation, lost.digest,
  answered.producer_id, answered.base_sequence
FROM lost JOIN (
  SELECT run, topic, partition, base_offset, last_offset, digest, producer_id, base_sequence
  FROM rest WHERE event = 'duplicate_answered' AND digest != written_digest
) AS answered
  ON answered.run = lost.run AND answered.topic = lost.topic AND answered.partition = lost.partition
  AND answered.digest = lost.digest AND lost.offset BETWEEN answered.base_offset AND answered.last_offset
LEFT ANTI JOIN lost_copies AS had
  ON lost.run = had.run AND lost.topic = had.topic AND lost.partition = had.partition AND lost.offset = had.offset
  AND lost.operation = had.operation AND lost.digest = had.digest
"""

# In a big run they are told apart by a number first: two that share one are looked at closer.
COPIED = """
SELECT run, topic, partition, digest, sum(last_offset - base_offset + 1) AS records, count(*) AS copies,
  min(base_offset) AS first_at, max(base_offset) AS last_at
FROM (
  SELECT /*few(doubtful)*/ * FROM logs
  --big LEFT SEMI JOIN (
  --big   SELECT batch FROM (
  --big     SELECT xxhash64(run, topic, partition, digest) AS batch
  --big     FROM logs WHERE leads AND base_offset IS NOT NULL AND topic <> '__consumer_offsets'
  --big   )
  --big   GROUP BY batch HAVING count(*) > 1
  --big ) AS doubtful ON xxhash64(run, topic, partition, digest) = batch
  WHERE leads AND base_offset IS NOT NULL AND topic <> '__consumer_offsets'
)
GROUP BY run, topic, partition, digest HAVING count(*) > 1
"""
