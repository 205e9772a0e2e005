"""What was acknowledged and the final leader does not have, and who had it: tables that several checks read. Each has
few rows, unless much was lost.

- `lost`: produces that ended `ok`, none of whose bytes are in the final leader's log where they were promised to be
  (acks=0 promises no place: nowhere), nor were deleted on request
- `lost_copies`: the batches that a replica once appended at their place, whatever became of them
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
