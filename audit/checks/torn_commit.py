"""Torn commit: a transaction is committed in one partition and aborted in another.

The coordinator decides a transaction once, and its markers take that result to each partition. Whether the client
learned the result does not matter: a commit without a response may be either, but the same everywhere. A row is a
transaction of a client with both COMMIT and ABORT markers behind its acknowledged records, in the final leaders' logs.
Its place is that of the first aborted record. Partitions whose marker has not arrived do not count.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
SELECT run, torn.topic, torn.partition, torn.offset,
  format_string('%s is committed in %s and aborted in %s', transaction, committed, aborted) AS text,
  to_json(struct(transaction, committed, aborted)) AS details
FROM (
  SELECT run, transaction, min(IF(ended_by = 'abort', struct(topic, partition, offset), NULL)) AS torn,
    concat_ws(',', array_sort(collect_set(IF(ended_by = 'commit', format_string('%s-%d', topic, partition), NULL))))
      AS committed,
    concat_ws(',', array_sort(collect_set(IF(ended_by = 'abort', format_string('%s-%d', topic, partition), NULL))))
      AS aborted
  FROM transaction_writes WHERE ended_by IS NOT NULL GROUP BY run, transaction
  HAVING count(DISTINCT ended_by) > 1
)
"""

CHECK = Check(
    name="torn-commit",
    title="A transaction has one result",
    definition=__doc__,
    levels=("client", "replica"),
    needs=(),
    subject="changes of clients' transactions",
    subjects=lambda counts: counts["producer_transaction_changed"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
