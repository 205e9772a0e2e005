"""Hanging transaction: an open transaction in a partition that no coordinator will end.

Its first record holds the last stable offset for ever: consumers at read_committed receive nothing behind it. It comes
from a batch that arrives after its transaction's marker (KAFKA-14402), or from a marker that a partition lost. The
final leader's log has records of a producer without a marker behind them. The coordinator's last record about that
producer, in sync, is not of an open transaction with that partition: Ongoing, PrepareCommit or PrepareAbort. A row is
such a producer in a partition, at its first open record. Without any record of a coordinator the transaction
has no owner. If the last record is not known to be in sync, the check does not judge the producer.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
WITH open AS (
  SELECT run, topic, partition, producer_id, min(base_offset) AS offset
  FROM transactional_batches WHERE batch_kind = 'data' AND ended_by IS NULL
  GROUP BY run, topic, partition, producer_id
),
states AS (
  SELECT run, producer_id, max_by(struct(transactional_id, transaction_state, transaction_partitions, error),
    struct(coordinator_epoch, base_offset)) AS last
  FROM rest WHERE event = 'transaction_state_changed' GROUP BY run, producer_id
)
SELECT open.run, topic, partition, offset,
  format_string('the transaction of producer %d is open from offset %d on, and its coordinator has %s',
    open.producer_id, offset, coalesce(last.transaction_state, 'none of it')) AS text,
  to_json(struct(open.producer_id, last.transactional_id, last.transaction_state)) AS details
FROM open LEFT JOIN states ON open.run = states.run AND open.producer_id = states.producer_id
WHERE last IS NULL OR (last.error = 0 AND NOT (
  last.transaction_state IN ('Ongoing', 'PrepareCommit', 'PrepareAbort')
  AND array_contains(split(last.transaction_partitions, ','), format_string('%s-%d', topic, partition))))
"""

CHECK = Check(
    name="hanging-transaction",
    title="A transaction is ended",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="transactional batches and markers appended",
    subjects=lambda counts: counts["transaction_batch_appended"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
    of_absence=True,
)
