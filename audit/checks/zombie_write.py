"""Zombie write: a partition accepts a batch with an older epoch of its producer.

A newer producer of the same transactional id, or a coordinator's time-out, raises the epoch. Its marker, or its first
batch, takes the epoch to the partition; from then on a leader refuses older ones (INVALID_PRODUCER_EPOCH). A row is a
transactional batch in the final leader's log. Before it lies a batch or marker of that producer with a higher epoch.
A batch with an old epoch that came before the marker is legal: the marker aborts it.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
SELECT run, topic, partition, base_offset AS offset,
  format_string('a batch of producer %d in epoch %d lies behind its epoch %d', producer_id, producer_epoch,
    epoch_before) AS text,
  to_json(struct(producer_id, producer_epoch, epoch_before)) AS details
FROM transactional_batches WHERE batch_kind = 'data' AND producer_epoch < epoch_before
"""

CHECK = Check(
    name="zombie-write",
    title="A fenced producer writes nothing",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="transactional batches and markers appended",
    subjects=lambda counts: counts["transaction_batch_appended"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
