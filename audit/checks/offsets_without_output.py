"""Offsets without output: a group's committed offset passes an input without output.

A consume-transform-produce loop names the input in each output: its value is TOPIC-PARTITION@OFFSET, behind a prefix
that ends with a dot. The check
judges the inputs of a partition between the first input that has any output and the highest offset that a committed
transaction sent. A row is an input record below that offset without a committed output: the group does not read it
again. Inputs of aborted transactions, and markers, have no output.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
WITH outputs AS (
  SELECT run, ended_by, concat('.', regexp_extract(value, '([^ ]*-[0-9]+@)[0-9]+$', 1)) AS place,
    try_cast(regexp_extract(value, '@([0-9]+)$', 1) AS BIGINT) AS input
  FROM transaction_writes WHERE value RLIKE '-[0-9]+@[0-9]+$'
),
sent AS (
  SELECT run, topic, partition, group_id, max(requested) AS reached
  FROM (
    SELECT run, operation, transaction, topic, partition, value AS group_id, offset AS requested
    FROM invocations WHERE kind = 'send-offset' AND transaction != ''
  )
  LEFT SEMI JOIN (SELECT run, operation FROM operations WHERE kind = 'send-offset' AND outcome = 'ok')
    AS ended USING (run, operation)
  LEFT SEMI JOIN (SELECT run, transaction FROM client_transactions WHERE committed) AS committed
    USING (run, transaction)
  GROUP BY run, topic, partition, group_id
),
judged AS (
  SELECT sent.run, topic, partition, group_id, reached, min(input) AS begins
  FROM sent JOIN outputs ON sent.run = outputs.run AND endswith(place, concat('.', topic, '-', partition, '@'))
  GROUP BY sent.run, topic, partition, group_id, reached
),
inputs AS (
  SELECT DISTINCT judged.run, judged.topic, judged.partition, group_id, reached,
    explode(sequence(greatest(begins, base_offset), least(reached - 1, last_offset))) AS input
  FROM judged JOIN (SELECT * FROM logs WHERE leads AND base_offset IS NOT NULL) AS log
    ON judged.run = log.run AND judged.topic = log.topic AND judged.partition = log.partition
    AND log.base_offset < reached AND log.last_offset >= begins
),
hidden AS (
  SELECT run, topic, partition, base_offset, last_offset FROM transactional_batches
  WHERE batch_kind != 'data' OR coalesce(ended_by, 'abort') = 'abort'
)
SELECT inputs.run, inputs.topic, inputs.partition, inputs.input AS offset,
  format_string('group %s has committed offset %d of %s-%d, and no output for offset %d is committed', group_id,
    reached, inputs.topic, inputs.partition, inputs.input) AS text,
  to_json(struct(group_id, reached)) AS details
FROM inputs
LEFT ANTI JOIN hidden
  ON inputs.run = hidden.run AND inputs.topic = hidden.topic AND inputs.partition = hidden.partition
  AND inputs.input BETWEEN hidden.base_offset AND hidden.last_offset
LEFT ANTI JOIN (SELECT run, place, input FROM outputs WHERE ended_by = 'commit') AS done
  ON inputs.run = done.run AND inputs.input = done.input
  AND endswith(done.place, concat('.', inputs.topic, '-', inputs.partition, '@'))
"""

CHECK = Check(
    name="offsets-without-output",
    title="Committed inputs have their outputs",
    definition=__doc__,
    levels=("client", "replica"),
    needs=(),
    subject="changes of clients' transactions",
    subjects=lambda counts: counts["producer_transaction_changed"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
