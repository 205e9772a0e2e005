"""Tables of lost records, their former holders, and duplicate batches of final leaders.

Each has few rows, unless many records were lost or copied.
- `lost`: records of produces that ended `ok`, without any of their bytes in the final leader's log at the promised
  offset (acks=0 promises none: anywhere), and not deleted on request; `record`: its index in its produce, from 0
- `lost_copies`: batches that a replica once appended at their offset, whatever happened to them
- `reused_sequences`: records of `lost` that no replica ever appended, because their producer had used their sequence
  numbers for other records, whose offset the response had
- `copied`: batches of the final leader's log with a digest that it has more than once: count of `copies` and records,
  first and last offset; without the coordinators' own batches, which no client has produced
"""

from audit.consumer_tables import HAD

EACH_RECORD = "explode(sequence(0L, records - 1)) AS record"
"""Rows for each record of an operation, numbered from 0. For few operations only."""

# The records of an operation lie in one batch, so that a log has all of them or none. Only what was deleted on request
# may end within a batch.
LOST = f"""
SELECT each.*
FROM (
  SELECT run, topic, partition, IF(offset < 0, offset, offset + record) AS offset, operation, record, acks, digest,
    at_ms
  FROM (
    SELECT o.*, {EACH_RECORD}
    FROM operations AS o
    LEFT ANTI JOIN ({HAD}) AS log
      ON o.run = log.run AND o.topic = log.topic AND o.partition = log.partition AND o.digest = log.digest
      AND (o.offset < 0 OR (o.offset >= log.base_offset AND o.offset + o.records - 1 <= log.last_offset))
    WHERE kind = 'produce' AND outcome = 'ok' AND NOT gone
  )
) AS each
LEFT ANTI JOIN deleted
  ON each.run = deleted.run AND each.topic = deleted.topic AND each.partition = deleted.partition
  AND each.digest = deleted.digest AND each.offset BETWEEN deleted.base_offset AND deleted.last_offset
"""

LOST_COPIES = """
SELECT /*few(lost)*/ lost.run, lost.topic, lost.partition, lost.offset, lost.operation, lost.record, lost.digest,
  appends.node,
  appends.incarnation, appends.seq, appends.last_offset, appends.leader_epoch
FROM appends JOIN lost
  ON appends.run = lost.run AND appends.topic = lost.topic AND appends.partition = lost.partition
  AND appends.digest = lost.digest AND lost.offset BETWEEN appends.base_offset AND appends.last_offset
"""

REUSED_SEQUENCES = """
SELECT /*few(answered)*/ lost.run, lost.operation, lost.record, min(answered.producer_id) AS producer_id,
  min(answered.base_sequence + lost.offset - answered.base_offset) AS sequence
FROM lost JOIN (
  SELECT run, topic, partition, base_offset, last_offset, digest, producer_id, base_sequence
  FROM rest WHERE event = 'duplicate_answered' AND digest != written_digest
) AS answered
  ON answered.run = lost.run AND answered.topic = lost.topic AND answered.partition = lost.partition
  AND answered.digest = lost.digest AND lost.offset BETWEEN answered.base_offset AND answered.last_offset
LEFT ANTI JOIN lost_copies AS had
  ON lost.run = had.run AND lost.operation = had.operation AND lost.record = had.record
GROUP BY lost.run, lost.operation, lost.record
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
