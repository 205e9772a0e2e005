"""Duplicate commit: two committed records are the output for the same input record.

A consume-transform-produce loop names the input in each output: its value is TOPIC-PARTITION@OFFSET, behind a prefix
that ends with a dot. With the input's offsets in the same transaction each input has one committed output. A row is an
input with several committed outputs in one topic. These are acknowledged records with COMMIT markers behind them in the
final leaders' logs. An output that was aborted and written again counts once.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
SELECT run, first.topic, first.partition, first.offset,
  format_string('%d committed records are the output for %s', outputs, input) AS text,
  to_json(struct(input, outputs)) AS details
FROM (
  SELECT run, topic, regexp_extract(value, '([^.]*-[0-9]+@[0-9]+)$', 1) AS input,
    count(DISTINCT partition, offset) AS outputs, min(struct(topic, partition, offset)) AS first
  FROM transaction_writes WHERE ended_by = 'commit' AND value RLIKE '-[0-9]+@[0-9]+$'
  GROUP BY run, topic, input
)
WHERE outputs > 1
"""

CHECK = Check(
    name="duplicate-commit",
    title="Each input is processed once",
    definition=__doc__,
    levels=("client", "replica"),
    needs=(),
    subject="changes of clients' transactions",
    subjects=lambda counts: counts["producer_transaction_changed"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
