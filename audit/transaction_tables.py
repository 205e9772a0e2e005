"""Tables of transactions, empty in runs without any.

- `transactional_batches`: batches of transactions and markers in the final leaders' logs. `batch_kind`: data, commit or
  abort. `end_offset`, `ended_by`: of the next marker of that producer in the log; null: there is none. `epoch_before`:
  the highest epoch of its producer before it
- `transaction_writes`: acknowledged records of clients' transactions that the final leader has, with `ended_by`
- `client_transactions`: clients' transactions; `committed`, `aborted`: acknowledged to the client, which had called
  commitTransaction (`committing`) or abortTransaction
- `dependencies`: pairs of committed transactions of which the `reader` has an output for a record of the `writer`: the
  first such record. Of clients that read its topic at read_committed alone
- `ever_transactional`: batches of transactions, and markers, that any replica ever appended, with `ended_by`. A
  consumer was given what a leader had then, which may be gone since. Of two markers at one offset ABORT counts
- `hidden_leaps`: those of `leaps` that only pass markers, or at read_committed records of aborted transactions
"""

TRANSACTIONAL_BATCHES = """
SELECT run, topic, partition, base_offset, last_offset, digest, producer_id, producer_epoch, batch_kind,
  after.base_offset AS end_offset, after.batch_kind AS ended_by, epoch_before
FROM (
  SELECT *,
    min(IF(batch_kind != 'data', struct(base_offset, batch_kind), NULL)) OVER (
      PARTITION BY run, topic, partition, producer_id ORDER BY base_offset
      ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS after,
    max(producer_epoch) OVER (
      PARTITION BY run, topic, partition, producer_id ORDER BY base_offset
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS epoch_before
  FROM (
    SELECT DISTINCT run, topic, partition, base_offset, last_offset, digest, producer_id, producer_epoch, batch_kind
    FROM (
      SELECT run, node, topic, partition, base_offset, digest, producer_id, producer_epoch, batch_kind
      FROM rest WHERE event = 'transaction_batch_appended'
    ) AS told
    JOIN (
      SELECT run, node, topic, partition, base_offset, last_offset, digest FROM logs
      WHERE leads AND base_offset IS NOT NULL
    ) AS log
    USING (run, node, topic, partition, base_offset, digest)
  )
)
"""

TRANSACTION_WRITES = """
SELECT run, operation, transaction, value, topic, partition, offset, ended_by, end_offset
FROM (
  SELECT run, operation, transaction, value, topic, partition, offset, digest
  FROM (SELECT run, operation, transaction, value FROM invocations WHERE kind = 'produce' AND transaction != '')
  JOIN (
    SELECT run, operation, topic, partition, offset, digest FROM operations
    WHERE kind = 'produce' AND outcome = 'ok' AND NOT gone
  ) USING (run, operation)
) AS written
JOIN (
  SELECT run, topic, partition, base_offset, last_offset, digest, ended_by, end_offset
  FROM transactional_batches WHERE batch_kind = 'data'
) AS batches
USING (run, topic, partition, digest)
WHERE offset BETWEEN base_offset AND last_offset
"""

CLIENT_TRANSACTIONS = """
SELECT run, transaction, max(transactional_id) AS transactional_id, max(change = 'committing') AS committing,
  max(change = 'committed') AS committed, max(change = 'aborted') AS aborted
FROM rest WHERE event = 'producer_transaction_changed' AND transaction != ''
GROUP BY run, transaction
"""

EVER_TRANSACTIONAL = """
SELECT DISTINCT run, topic, partition, base_offset, last_offset, producer_id, batch_kind, after.batch_kind AS ended_by
FROM (
  SELECT *,
    min(IF(batch_kind != 'data', struct(base_offset, batch_kind), NULL)) OVER (
      PARTITION BY run, topic, partition, producer_id ORDER BY base_offset
      RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS after
  FROM (
    SELECT DISTINCT run, topic, partition, base_offset, last_offset, digest, producer_id, batch_kind
    FROM rest WHERE event = 'transaction_batch_appended'
  )
)
"""

HIDDEN_LEAPS = """
SELECT run, operation, topic, partition, base_offset, before
FROM (
  SELECT leaps.run, leaps.operation, leaps.topic, leaps.partition, leaps.base_offset, before,
    explode(sequence(greatest(hidden.base_offset, before + 1), least(hidden.last_offset, leaps.base_offset - 1)))
      AS passed
  FROM leaps
  JOIN (
    SELECT run, topic, partition, base_offset, last_offset, batch_kind FROM ever_transactional
    WHERE batch_kind != 'data' OR ended_by = 'abort'
  ) AS hidden
    ON leaps.run = hidden.run AND leaps.topic = hidden.topic AND leaps.partition = hidden.partition
    AND hidden.base_offset < leaps.base_offset AND hidden.last_offset > before
  LEFT JOIN (SELECT run, operation FROM invocations WHERE isolation = 'read_committed') AS isolated
    ON leaps.run = isolated.run AND leaps.operation = isolated.operation
  WHERE batch_kind != 'data' OR isolated.operation IS NOT NULL
)
GROUP BY run, operation, topic, partition, base_offset, before
HAVING count(DISTINCT passed) = base_offset - before - 1
"""

DEPENDENCIES = """
WITH committed AS (
  SELECT run, operation, transaction, value, topic, partition, offset FROM transaction_writes WHERE ended_by = 'commit'
),
isolated AS (
  SELECT run, substring_index(operation, ':', 1) AS client, topic
  FROM (SELECT DISTINCT run, operation, topic FROM reads)
  JOIN (SELECT run, operation, isolation FROM invocations WHERE kind = 'fetch') USING (run, operation)
  GROUP BY run, substring_index(operation, ':', 1), topic HAVING bool_and(coalesce(isolation, '') = 'read_committed')
),
outputs AS (
  SELECT run, transaction, substring_index(operation, ':', 1) AS client,
    concat('.', regexp_extract(value, '([^ ]*-[0-9]+@)[0-9]+$', 1)) AS place,
    try_cast(regexp_extract(value, '@([0-9]+)$', 1) AS BIGINT) AS input
  FROM committed WHERE value RLIKE '-[0-9]+@[0-9]+$'
)
SELECT run, writer, reader, read.topic, read.partition, read.offset
FROM (
  SELECT outputs.run, committed.transaction AS writer, outputs.transaction AS reader,
    min(struct(topic, partition, offset)) AS read
  FROM outputs JOIN committed
    ON outputs.run = committed.run AND outputs.input = committed.offset
    AND endswith(outputs.place, concat('.', topic, '-', partition, '@'))
  LEFT SEMI JOIN isolated
    ON outputs.run = isolated.run AND outputs.client = isolated.client AND committed.topic = isolated.topic
  WHERE outputs.transaction != committed.transaction
  GROUP BY outputs.run, committed.transaction, outputs.transaction
)
"""
