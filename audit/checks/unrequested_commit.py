"""Unrequested commit: the log has a COMMIT over a record whose client did not commit.

The client has never called commitTransaction for the transaction: it has aborted it, left it, or was fenced. So no
consumer at read_committed may receive its records. A row is an acknowledged record of such a transaction with a COMMIT
marker of its producer behind it, in the final leader's log. (KAFKA-17754, found by Jepsen: a late EndTxn commits the
next transaction.)
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
SELECT run, topic, partition, offset,
  format_string('%s is committed by the marker at offset %d, and its client did not commit %s', operation, end_offset,
    transaction) AS text,
  to_json(struct(operation, transaction, end_offset)) AS details
FROM transaction_writes
LEFT SEMI JOIN (SELECT run, transaction FROM client_transactions WHERE NOT committing AND NOT committed) AS uncommitted
USING (run, transaction)
WHERE ended_by = 'commit'
"""

CHECK = Check(
    name="unrequested-commit",
    title="What a client does not commit stays uncommitted",
    definition=__doc__,
    levels=("client", "replica"),
    needs=(),
    subject="changes of clients' transactions",
    subjects=lambda counts: counts["producer_transaction_changed"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
