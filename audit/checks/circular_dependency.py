"""Circular dependency: transactions depend on each other in a circle.

A consume-transform-produce loop names the input in each output. So the log has what its transactions read (`wr`: the
second one has read a record of the first). In a partition the offsets have the order of writes (`ww`). A consumer at
read_committed receives a record after its transaction was decided, and our loops read before they write. So what a
transaction wrote lies behind all that it depends on. A row is a chain of up to four committed transactions, each with
an output for a record of the one before. The last one has a record before one of the first one's in a partition. Or
the first one has read from it. The text is the circle.

It judges acknowledged records with COMMIT markers behind them in the final leaders' logs, and clients that read the
topic at read_committed alone. Where such a log has lost records, offsets stand for others. (Adya: G1c, as Elle finds
it. G1a is aborted-read. G1b, a part of a transaction without the rest, is dirty-read, read-gap or skipped-read. Kafka
allows G0: two transactions may lie in different orders in two partitions.)
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LEADERS

VIOLATIONS = """
WITH committed AS (
  SELECT run, operation, transaction, value, topic, partition, offset FROM transaction_writes WHERE ended_by = 'commit'
),
isolated AS (
  SELECT run, substring_index(operation, ':', 1) AS client, topic
  FROM (SELECT DISTINCT run, operation, topic FROM reads)
  JOIN (SELECT run, operation, isolation FROM invocations WHERE kind = 'fetch') USING (run, operation)
  GROUP BY run, substring_index(operation, ':', 1), topic HAVING bool_and(coalesce(isolation, '') = 'read_committed')
),
written AS (
  SELECT run, transaction, topic, partition, min(offset) AS first, max(offset) AS last
  FROM committed GROUP BY run, transaction, topic, partition
),
outputs AS (
  SELECT run, transaction, substring_index(operation, ':', 1) AS client,
    concat('.', regexp_extract(value, '([^ ]*-[0-9]+@)[0-9]+$', 1)) AS place,
    try_cast(regexp_extract(value, '@([0-9]+)$', 1) AS BIGINT) AS input
  FROM committed WHERE value RLIKE '-[0-9]+@[0-9]+$'
),
dependent AS (
  SELECT outputs.run, committed.transaction AS writer, outputs.transaction AS reader,
    min(struct(topic, partition, offset)) AS read
  FROM outputs JOIN committed
    ON outputs.run = committed.run AND outputs.input = committed.offset
    AND endswith(outputs.place, concat('.', topic, '-', partition, '@'))
  LEFT SEMI JOIN isolated
    ON outputs.run = isolated.run AND outputs.client = isolated.client AND committed.topic = isolated.topic
  WHERE outputs.transaction != committed.transaction
  GROUP BY outputs.run, committed.transaction, outputs.transaction
),
pairs AS (SELECT run, writer AS begins, reader AS ends, array(writer, reader) AS path, read FROM dependent),
threes AS (
  SELECT pairs.run, begins, reader AS ends, array_append(path, reader) AS path, pairs.read
  FROM pairs JOIN dependent ON pairs.run = dependent.run AND ends = writer
  WHERE NOT array_contains(path, reader)
),
fours AS (
  SELECT threes.run, begins, reader AS ends, array_append(path, reader) AS path, threes.read
  FROM threes JOIN dependent ON threes.run = dependent.run AND ends = writer
  WHERE NOT array_contains(path, reader)
),
chains AS (SELECT * FROM pairs UNION ALL SELECT * FROM threes UNION ALL SELECT * FROM fours),
circles AS (
  SELECT chains.run, path, chains.read, 'wr' AS back
  FROM chains JOIN dependent ON chains.run = dependent.run AND ends = writer AND begins = reader
  UNION ALL
  SELECT chains.run, path, read, 'ww' AS back
  FROM chains
  JOIN written AS earlier ON chains.run = earlier.run AND ends = earlier.transaction
  JOIN written AS later
    ON chains.run = later.run AND begins = later.transaction AND earlier.topic = later.topic
    AND earlier.partition = later.partition AND earlier.first < later.last
)
SELECT run, circle.read.topic, circle.read.partition, circle.read.offset, circle.text,
  to_json(struct(circle.text AS cycle)) AS details
FROM (
  SELECT run, min(struct(concat(array_join(path, ' -wr-> '), ' -', back, '-> ', path[0]) AS text, read)) AS circle
  FROM circles GROUP BY run, array_sort(path)
)
"""

CHECK = Check(
    name="circular-dependency",
    title="Transactions do not depend on each other in a circle",
    definition=__doc__,
    levels=("client", "replica"),
    needs=(),
    subject="changes of clients' transactions",
    subjects=lambda counts: counts["producer_transaction_changed"],
    violations=VIOLATIONS,
    evidence=UNREADABLE_LEADERS,
)
