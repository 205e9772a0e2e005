"""Output without offsets: an output is committed without the offset of its input.

A consume-transform-produce loop names the input in each output: its value is TOPIC-PARTITION@OFFSET, behind a prefix
that ends with a dot. The
transaction must also commit the group's offset behind that input, by sendOffsetsToTransaction; otherwise the next
consumer of the group reads the input again. A row is a committed output in a transaction without an acknowledged
offset of that partition above the input's. Offsets that the application commits outside the transaction do not count.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
WITH outputs AS (
  SELECT run, operation, transaction, topic, partition, offset, value,
    try_cast(regexp_extract(value, '-([0-9]+)@([0-9]+)$', 2) AS BIGINT) AS input
  FROM transaction_writes WHERE ended_by = 'commit' AND value RLIKE '-[0-9]+@[0-9]+$'
),
sent AS (
  SELECT run, transaction, topic, partition, requested
  FROM (
    SELECT run, operation, transaction, topic, partition, offset AS requested
    FROM invocations WHERE kind = 'send-offset' AND transaction != ''
  )
  LEFT SEMI JOIN (SELECT run, operation FROM operations WHERE kind = 'send-offset' AND outcome = 'ok')
    AS ended USING (run, operation)
)
SELECT outputs.run, topic, partition, offset,
  format_string('%s committed %s without its offset', transaction, value) AS text,
  to_json(struct(operation, transaction, value)) AS details
FROM outputs
LEFT ANTI JOIN (SELECT run, transaction, requested, concat(topic, '-', partition, '@') AS place FROM sent) AS sent
  ON outputs.run = sent.run AND outputs.transaction = sent.transaction AND input < requested
  AND (value = concat(place, input) OR endswith(value, concat('.', place, input)))
"""

CHECK = Check(
    name="output-without-offsets",
    title="Outputs come with their offsets",
    definition=__doc__,
    levels=("client", "replica"),
    needs=(),
    subject="changes of clients' transactions",
    subjects=lambda counts: counts["producer_transaction_changed"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
