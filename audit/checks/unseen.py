"""Unseen: an acknowledged record that a consumer's reads skipped.

The check takes the records that the final leader has at their acknowledged offset. A consumer must have read such a
record if these conditions hold:

- it read a record at or before that offset;
- after the acknowledgement it read a record beyond that offset;
- it did not leave its position in between (`position_left`);
- at read_committed, the record is not of an aborted transaction.

A row is a record, for all consumers that skipped it together. (Jepsen's Kafka workload: unseen.)
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS
from audit.lost import EACH_RECORD

# A stretch without a leap, all of which the final leader has, has passed nothing by: the others are few.
VIOLATIONS = f"""
WITH stretches AS (
  SELECT run, operation, topic, partition, stretch, min(base_offset) AS begins, max(last_offset) AS ends,
    max(at_ms) AS last_ms
  FROM doubtful_turns GROUP BY run, operation, topic, partition, stretch
),
hidden AS (
  SELECT b.run, i.operation AS reader, topic, partition, base_offset, last_offset
  FROM (
    SELECT run, topic, partition, base_offset, last_offset FROM ever_transactional
    WHERE batch_kind = 'data' AND ended_by = 'abort'
  ) AS b
  JOIN (
    SELECT run, operation FROM invocations
    LEFT SEMI JOIN stretches USING (run, operation) WHERE isolation = 'read_committed'
  ) AS i ON b.run = i.run
)
SELECT run, topic, partition, offset,
  format_string('%s lies at offset %d, which %s read past without it (times: %d)', operation, offset, min(reader),
    count(*)) AS text,
  to_json(struct(operation, record, min(reader) AS reader, count(*) AS times)) AS details
FROM (
  SELECT run, topic, partition, operation, record, offset + record AS offset, digest, reader, stretch
  FROM (
    SELECT /*few(s)*/ o.run, o.topic, o.partition, o.operation, o.offset, o.digest, s.operation AS reader, s.stretch,
      s.begins, s.ends, {EACH_RECORD}
    FROM operations AS o JOIN stretches AS s
      ON o.run = s.run AND o.topic = s.topic AND o.partition = s.partition AND o.offset < s.ends
      AND o.offset >= 0 AND o.offset + o.records > s.begins AND o.at_ms < s.last_ms
    WHERE o.kind = 'produce' AND o.outcome = 'ok' AND NOT o.gone
  )
  WHERE record + offset BETWEEN begins AND ends - 1
) AS passed
LEFT SEMI JOIN (SELECT * FROM logs WHERE leads AND base_offset IS NOT NULL) AS log
  ON passed.run = log.run AND passed.topic = log.topic AND passed.partition = log.partition
  AND passed.digest = log.digest AND passed.offset BETWEEN log.base_offset AND log.last_offset
LEFT ANTI JOIN doubtful_turns AS given
  ON passed.run = given.run AND passed.reader = given.operation AND passed.topic = given.topic
  AND passed.partition = given.partition AND passed.stretch = given.stretch AND passed.digest = given.digest
  AND passed.offset BETWEEN given.base_offset AND given.last_offset
LEFT ANTI JOIN hidden
  ON passed.run = hidden.run AND passed.reader = hidden.reader AND passed.topic = hidden.topic
  AND passed.partition = hidden.partition AND passed.offset BETWEEN hidden.base_offset AND hidden.last_offset
GROUP BY run, topic, partition, operation, record, offset
"""

CHECK = Check(
    name="unseen",
    title="A consumer that reads on has read all records before",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("batch_appended", "role_changed"),
    subject="batches read",
    subjects=lambda counts: counts["records_read"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
    of_absence=True,
)
