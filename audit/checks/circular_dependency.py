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
WITH written AS (
  SELECT run, transaction, topic, partition, min(offset) AS first, max(offset) AS last
  FROM transaction_writes WHERE ended_by = 'commit' GROUP BY run, transaction, topic, partition
),
pairs AS (
  SELECT run, writer AS begins, reader AS ends, array(writer, reader) AS path, topic, partition, offset
  FROM dependencies
),
threes AS (
  SELECT pairs.run, begins, reader AS ends, array_append(path, reader) AS path,
    pairs.topic, pairs.partition, pairs.offset
  FROM pairs JOIN dependencies ON pairs.run = dependencies.run AND ends = writer
  WHERE NOT array_contains(path, reader)
),
fours AS (
  SELECT threes.run, begins, reader AS ends, array_append(path, reader) AS path,
    threes.topic, threes.partition, threes.offset
  FROM threes JOIN dependencies ON threes.run = dependencies.run AND ends = writer
  WHERE NOT array_contains(path, reader)
),
chains AS (SELECT * FROM pairs UNION ALL SELECT * FROM threes UNION ALL SELECT * FROM fours),
circles AS (
  SELECT chains.run, path, chains.topic, chains.partition, chains.offset, IF(back.writer IS NULL, 'ww', 'wr') AS kind
  FROM chains
  LEFT JOIN dependencies AS back ON chains.run = back.run AND ends = back.writer AND begins = back.reader
  LEFT JOIN written AS earlier ON chains.run = earlier.run AND ends = earlier.transaction
  LEFT JOIN written AS later
    ON chains.run = later.run AND begins = later.transaction AND earlier.topic = later.topic
    AND earlier.partition = later.partition AND earlier.first < later.last
  WHERE back.writer IS NOT NULL OR later.transaction IS NOT NULL
)
SELECT run, circle.topic, circle.partition, circle.offset, circle.text,
  to_json(struct(circle.text AS cycle)) AS details
FROM (
  SELECT run, min(struct(concat(array_join(path, ' -wr-> '), ' -', kind, '-> ', path[0]) AS text,
    topic, partition, offset)) AS circle
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
