"""Reordered: a record lies before one that the same producer requested earlier.

Kafka keeps the order of a producer's records in a partition while it has one request in flight, or is idempotent. With
more requests in flight a retried batch comes behind those that were sent after it. The check takes the produces that
ended `ok` and whose record the final leader holds. In the order of their beginnings at a client their offsets must
rise. A row is a record whose offset is below that of a record that the same client requested before. (Jepsen's Kafka
workload calls it a nonmonotonic send.)

Kafka clients are identified by their `client.id`, each at one broker's listener. A retry there is an operation of its
own. An idempotent producer's retry receives the first one's offset; it counts from the time of the first.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS
from audit.lost import EACH_RECORD
from audit.monotonic_runs import PRODUCER, disordered_of

_ACKNOWLEDGED = "kind = 'produce' AND outcome = 'ok' AND offset >= 0 AND NOT gone"
_NUMBER = "CAST(substring_index(operation, ':', -1) AS BIGINT)"
_EARLIER = f"ORDER BY incarnation, {_NUMBER} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"

# Of a big run only what takes part in a fall of offsets is compared with the log: a table of those producers of whom
# `audit.monotonic_runs` knows no better, told apart by a number. `lowest`: the lowest that any of its offsets falls to.
FALLS = f"""
SELECT producer, min(offset) AS lowest
FROM (
  SELECT producer, offset, max(offset) OVER (PARTITION BY producer ORDER BY incarnation, number
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS highest
  FROM (
    SELECT /*few(disordered)*/ {PRODUCER} AS producer, incarnation, {_NUMBER} AS number, offset
    FROM operations {disordered_of("producer", PRODUCER)} WHERE {_ACKNOWLEDGED}
  )
)
WHERE offset < highest GROUP BY producer
"""

VIOLATIONS = f"""
SELECT run, topic, partition, offset + record AS offset,
  format_string('%s lies at offset %d, before %s at %d, which was requested earlier',
    operation, offset + record, before.operation, before.offset) AS text,
  to_json(struct(operation, record, before.operation AS earlier, before.offset AS earlier_offset)) AS details
FROM (
  SELECT behind.*, {EACH_RECORD}
  FROM (
    SELECT *, max(struct(offset, operation, incarnation, {_NUMBER} AS number)) OVER (
      PARTITION BY run, node, client, topic, partition {_EARLIER}) AS before
    FROM (
      SELECT o.*, coalesce(i.client, '') AS client
      FROM (
        SELECT /*few(falls)*/ * FROM operations
        --big LEFT SEMI JOIN falls ON {PRODUCER} = producer AND offset >= lowest
        WHERE {_ACKNOWLEDGED}
      ) AS o
      LEFT SEMI JOIN (SELECT * FROM logs WHERE leads AND base_offset IS NOT NULL) AS log
        ON o.run = log.run AND o.topic = log.topic AND o.partition = log.partition AND o.digest = log.digest
        AND o.offset BETWEEN log.base_offset AND log.last_offset
      LEFT JOIN (SELECT DISTINCT run, operation, client FROM invocations WHERE client != '') AS i
        ON o.run = i.run AND o.operation = i.operation
    )
  ) AS behind
  LEFT JOIN (
    SELECT run, node, topic, partition, digest, min(struct(incarnation, {_NUMBER} AS number)) AS first_sent
    FROM operations WHERE kind = 'produce' AND idempotent
    GROUP BY run, node, topic, partition, digest
  ) AS sent
    ON behind.run = sent.run AND behind.node = sent.node AND behind.topic = sent.topic
    AND behind.partition = sent.partition AND behind.digest = sent.digest
  WHERE offset < before.offset
    AND NOT coalesce(client != '' AND sent.first_sent < struct(before.incarnation, before.number), false)
  )
"""

CHECK = Check(
    name="reordered",
    title="A producer's records keep their order",
    definition=__doc__,
    levels=("client", "replica"),
    needs=("operation_ended", "batch_appended", "role_changed"),
    subject="acknowledged records",
    subjects=lambda counts: counts["acknowledged"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
