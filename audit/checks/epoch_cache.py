"""Epoch cache: a replica's leader epochs are not those of the batches in its log.

A leader's response about the end of an epoch comes from its cache (the file leader-epoch-checkpoint). Followers
truncate by that response, so a wrong entry causes a wrong truncation (KIP-101, KIP-279; semantics 2.1, 3).

- A truncation of the log truncates the cache: no entry begins at or above the log's end. The same holds for a log that
  a starting broker loads.
- At the end each epoch of the log's batches is in the cache, and begins at the first of them.

A row is an entry that a truncation left in the cache. It may also be an epoch of a log that its cache lacks or has at
another offset. After a deletion of records, epochs begin at the log's new start. Batches of formats without an epoch
are ignored. The newest 32 entries of a cache count.
"""

from audit.checks.check import Check
from audit.checks.log_evidence import UNREADABLE_LOGS
from protocol.events.log_events import EPOCHS_MAX

_TELL = "event IN ('log_created', 'log_loaded', 'log_truncated', 'log_start_moved', 'leader_epoch_began')"

_OUTLIVED = """
SELECT run, topic, partition, begins AS offset,
  format_string('%s, in incarnation %d, still had leader epoch %d begin at offset %d after its log ended at %d',
    node, incarnation, leader_epoch, begins, min(log_end)) AS text,
  to_json(struct(node, incarnation, leader_epoch, begins)) AS details
FROM (
  SELECT run, node, incarnation, topic, partition, log_end, try_cast(substring_index(entry, ':', 1) AS BIGINT)
    AS leader_epoch, try_cast(substring_index(entry, ':', -1) AS BIGINT) AS begins
  FROM (
    SELECT run, node, incarnation, topic, partition, IF(event = 'log_truncated', `to`, log_end) AS log_end,
      explode(split(epochs, ' ')) AS entry
    FROM rest
    WHERE epochs != '' AND (event = 'log_loaded' OR (event = 'log_truncated' AND `to` < log_end))
  )
)
WHERE begins >= log_end
GROUP BY run, node, incarnation, topic, partition, leader_epoch, begins
"""

_LACKED = f"""
SELECT run, topic, partition, greatest(first_offset, kept_from) AS offset,
  format_string('in the log of %s leader epoch %d begins at offset %d; its cache has: %s',
    node, leader_epoch, greatest(first_offset, kept_from), IF(epochs = '', 'nothing', epochs)) AS text,
  to_json(struct(node, leader_epoch, epochs)) AS details
FROM log_ranges
JOIN (
  SELECT run, node, topic, partition,
    max_by(IF(event = 'log_created', '', epochs), struct(incarnation, seq)) AS epochs
  FROM rest WHERE {_TELL} GROUP BY run, node, topic, partition
) AS told USING (run, node, topic, partition)
WHERE leader_epoch >= 0 AND first_offset IS NOT NULL AND log_end > kept_from
  AND NOT array_contains(split(epochs, ' '), concat(leader_epoch, ':', greatest(first_offset, kept_from)))
  -- older than the oldest of as many as are told
  AND NOT (size(split(epochs, ' ')) >= {EPOCHS_MAX}
    AND leader_epoch < try_cast(substring_index(epochs, ':', 1) AS BIGINT))
"""

_UNTOLD = f"""
SELECT run, topic, partition, format_string('the events of %s do not have its leader epochs', node) AS text
FROM rest WHERE {_TELL} AND event != 'log_created' AND epochs IS NULL GROUP BY run, node, topic, partition
UNION ALL
SELECT run, topic, partition, format_string('no event of %s has its leader epochs', node)
FROM log_ranges LEFT ANTI JOIN (SELECT * FROM rest WHERE {_TELL}) USING (run, node, topic, partition)
WHERE leader_epoch >= 0 GROUP BY run, node, topic, partition
"""

CHECK = Check(
    name="epoch-cache",
    title="Leader epochs are those of the log",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="batches appended",
    subjects=lambda counts: counts["batch_appended"],
    violations=f"{_OUTLIVED} UNION ALL {_LACKED}",
    evidence=f"{UNREADABLE_LOGS} UNION ALL {_UNTOLD}",
    of_absence=True,
)
