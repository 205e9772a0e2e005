"""Lost commit: the log has an ABORT over a record whose commit was acknowledged.

commitTransaction has returned without an error. So consumers at read_committed must receive the transaction's
acknowledged records. A row is such a record with an ABORT marker of its producer behind it, in the final leader's log.
A record that the log has not at all is in lost-acknowledged. (Jepsen's Kafka workload: lost writes.)
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
SELECT run, topic, partition, offset,
  format_string('%s was committed in %s, and the marker at offset %d aborts it', operation, transaction, end_offset)
    AS text,
  to_json(struct(operation, transaction, end_offset)) AS details
FROM transaction_writes
LEFT SEMI JOIN (SELECT run, transaction FROM client_transactions WHERE committed) AS committed
USING (run, transaction)
WHERE ended_by = 'abort'
"""

CHECK = Check(
    name="lost-commit",
    title="A committed transaction stays committed",
    definition=__doc__,
    levels=("client", "replica"),
    needs=(),
    subject="changes of clients' transactions",
    subjects=lambda counts: counts["producer_transaction_changed"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
