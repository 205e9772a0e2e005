"""Lost: an acknowledged record that the partition's final leader does not have.

A produce that ended `ok` promises a place: (topic, partition, offset) and the batch's digest. The final leader is that
of the last leader epoch with a leader. The record is lost if the final leader's log has no batch with that digest at
that offset at the end. acks=0 promises no offset: any offset counts. A record that only a stale leader still has is
lost, because no consumer can read it. Records deleted on request, with their topic or by DeleteRecords, are not lost.
DeleteRecords deletes those below the offset that the leader had when it received the request.

`allowed` of a row is the setting of Kafka that allows the loss; it is empty if the loss breaks a promise. The verdict
counts by `acks` and by `allowed`. A loss is a violation either way.

- `duplicate sequence`: the producer reused the sequence number of another record, and received that record's offset, as
  every retry does (KIP-98; semantics 11.1). No replica ever had the record. The loss is the client's own, with any
  acks.
- `acks<=1`: the leader alone acknowledged it.
- `unclean.leader.election`: after the record's leader epoch a replica outside the ISR was elected (semantics 4.4). It
  had not the record when it became leader. In KRaft it was also outside the eligible leader replicas (KIP-966). An
  elected replica that has the record does not lose it. Batches before 0.11 have no epoch; there such an election also
  allows the loss of later records.
- `not flushed`: a replica that had the record came back without it, from a power loss or with another disk. Kafka
  acknowledges before it flushes (`log.flush.interval.messages`), so all in-sync replicas may lose records that only
  memory holds.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
-- a copy of it on a replica: when and by what it was gone there, the first that cut the log so far
WITH copies AS (
  SELECT lost.run, lost.topic, lost.partition, lost.offset, lost.operation, lost.record, lost.acks, lost.digest,
    lost.at_ms AS acknowledged_ms, had.node, struct(had.incarnation, had.seq) AS appended, had.leader_epoch,
    min(struct(cut.incarnation, cut.seq, cut.event)) AS gone
  FROM lost
  -- only acks=all promises more than one replica's word
  LEFT JOIN lost_copies AS had
    ON lost.acks = -1 AND had.run = lost.run AND had.operation = lost.operation AND had.record = lost.record
  LEFT JOIN (
    SELECT run, node, topic, partition, incarnation, seq, event,
      CASE WHEN event IN ('log_created', 'log_deleted') THEN 0L WHEN event = 'log_loaded' THEN log_end
           ELSE least(`to`, log_end) END AS log_end
    FROM rest WHERE event IN ('log_loaded', 'log_created', 'log_deleted', 'log_truncated')
  ) AS cut
    ON had.run = cut.run AND had.node = cut.node AND had.topic = cut.topic AND had.partition = cut.partition
    AND struct(had.incarnation, had.seq) < struct(cut.incarnation, cut.seq) AND had.last_offset >= cut.log_end
  GROUP BY ALL
),
-- uncleanly elected leaders, from their first term on
unclean AS (
  SELECT elected.run, elected.topic, elected.partition, elected.leader_epoch, led.node,
    min(struct(led.incarnation, led.seq)) AS began
  FROM states AS elected JOIN rest AS led
    ON led.run = elected.run AND led.topic = elected.topic AND led.partition = elected.partition
    AND led.leader_epoch = elected.leader_epoch AND led.node = concat('broker-', elected.leader)
    AND led.event = 'role_changed' AND led.role = 'leader'
  WHERE elected.leader >= 0 AND elected.leader != last_leader AND NOT array_contains(last_isr, elected.leader)
    AND NOT coalesce(array_contains(last_elr, elected.leader), false)
  GROUP BY ALL
)
SELECT found.run, found.topic, found.partition, found.offset,
  IF(producer_id IS NULL,
    format_string('%s was acknowledged (acks=%d) at offset %d; the final leader does not have it',
      found.operation, acks, found.offset),
    format_string('%s was acknowledged (acks=%d) at offset %d as a duplicate: producer %d had used sequence number %d '
      || 'for the record there, which is another one', found.operation, acks, found.offset, producer_id,
      sequence)) AS text,
  to_json(struct(found.operation, found.record, acks,
    IF(producer_id IS NULL, allowed, 'duplicate sequence') AS allowed, found.digest, acknowledged_ms, producer_id))
    AS details
FROM (
  SELECT run, topic, partition, offset, operation, record, acks, digest, acknowledged_ms,
    CASE WHEN acks != -1 THEN 'acks<=1'
         WHEN max(later AND NOT had_it) THEN 'unclean.leader.election'
         WHEN max(forgotten) THEN 'not flushed'
         ELSE '' END AS allowed
  FROM (
    SELECT copies.run, copies.topic, copies.partition, offset, operation, record, acks, digest, acknowledged_ms,
      unclean.leader_epoch AS unclean_epoch, max(copies.leader_epoch) < unclean.leader_epoch AS later,
      coalesce(max(copies.node = unclean.node AND appended < began
        AND (gone.event IS NULL OR struct(gone.incarnation, gone.seq) > began)), false) AS had_it,
      max(gone.event IN ('log_loaded', 'log_created')) AS forgotten
    FROM copies LEFT JOIN unclean
      ON copies.run = unclean.run AND copies.topic = unclean.topic AND copies.partition = unclean.partition
    GROUP BY ALL
  )
  GROUP BY ALL
) AS found
LEFT JOIN reused_sequences AS reused
  ON found.run = reused.run AND found.operation = reused.operation AND found.record = reused.record
"""

CHECK = Check(
    name="lost-acknowledged",
    title="Acknowledged records are kept",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("operation_ended", "batch_appended", "role_changed"),
    subject="acknowledged records",
    # Without the client level acknowledgements are unknown: appends by a leader stand for them.
    subjects=lambda counts: counts["acknowledged"] or (0 if counts["operation_ended"] else counts["led_appends"]),
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
