"""Committed states of partitions, and leaders' views of their ISRs.

`states`: as ZooKeeper or the metadata log of KRaft committed them, each beside its predecessor. Every ZooKeeper server
or controller reports each; one is enough. In KRaft `zxid` is the offset in the metadata log, and `controller_epoch` is
the quorum's epoch. A row is a state:

- `run`, `topic`, `partition`, `zxid`, `leader`, `leader_epoch`, `isr`, `controller_epoch`
- `version`: of its znode, or the partition epoch; `change`: created or changed
- `at_ms`, `until_ms`: its own time and that of the next state or deletion, null: none
- `elr`, `replicas`: of KRaft alone; eligible leader replicas, assigned replicas
- `last_leader`, `last_leader_epoch`, `last_isr`, `last_elr`, `last_controller_epoch`, `last_replicas`: of the state
  before it since the partition was created, null for the first
- `life`: count of creations and deletions up to it

`small_isrs`: periods in which a leader's ISR had fewer replicas than `min.insync.replicas`. A row begins with an event
of the leader (its role, or an ISR change that it requested or that succeeded). It lasts until one with enough replicas,
or without leadership (`until_ms` null: none); `high_watermark`: at the beginning. A setting that changed at run time
counts with its least value.
"""


def _brokers(column: str) -> str:
    """SQL: the brokers of a text `0,1,2`."""
    return f"filter(transform(split({column}, ','), one -> try_cast(one AS BIGINT)), one -> one IS NOT NULL)"


STATES = f"""
SELECT *,
  lag(leader) OVER since_created AS last_leader, lag(leader_epoch) OVER since_created AS last_leader_epoch,
  lag(isr) OVER since_created AS last_isr, lag(elr) OVER since_created AS last_elr,
  lag(controller_epoch) OVER since_created AS last_controller_epoch,
  lag(replicas) OVER since_created AS last_replicas
FROM (
  SELECT *, count_if(change != 'changed') OVER of_partition AS life, lead(at_ms) OVER of_partition AS until_ms
  FROM (
    SELECT run, regexp_extract(path, '^/brokers/topics/([^/]+)/', 1) AS topic,
      CAST(regexp_extract(path, '/partitions/([0-9]+)/', 1) AS BIGINT) AS partition,
      zxid, version, change, at_ms, state.*, CAST(NULL AS ARRAY<BIGINT>) AS elr, CAST(NULL AS ARRAY<BIGINT>) AS replicas
    FROM (
      SELECT run, path, zxid, max(version) AS version, max(change) AS change, min(at_ms) AS at_ms,
        from_json(max(data), 'leader BIGINT, leader_epoch BIGINT, isr ARRAY<BIGINT>, controller_epoch BIGINT') AS state
      FROM rest WHERE event = 'znode_changed' AND path RLIKE '^/brokers/topics/[^/]+/partitions/[0-9]+/state$'
      GROUP BY run, path, zxid
    )
    UNION ALL
    SELECT run, substring_index(topic, '#', 1) AS topic, partition, zxid, version,
      IF(version = 0, 'created', 'changed') AS change, at_ms, leader, leader_epoch, {_brokers("isr")} AS isr,
      controller_epoch, {_brokers("elr")} AS elr, {_brokers("replicas")} AS replicas
    FROM (
      SELECT run, topic, partition, offset AS zxid, max(partition_epoch) AS version, min(at_ms) AS at_ms,
        max(leader) AS leader, max(leader_epoch) AS leader_epoch, max(isr) AS isr, max(epoch) AS controller_epoch,
        max(elr) AS elr, max(replicas) AS replicas
      FROM rest WHERE event = 'partition_state_committed' GROUP BY run, topic, partition, offset
    )
    UNION ALL
    -- KRaft removes a topic with one record; the partitions are those that had a state
    SELECT run, substring_index(topic, '#', 1), partition, zxid, NULL, 'deleted', at_ms, NULL, NULL, NULL, NULL, NULL,
      NULL
    FROM (
      SELECT run, topic, partition, max(offset) + 1 AS zxid
      FROM rest WHERE event = 'partition_state_committed' GROUP BY run, topic, partition
    )
    JOIN (
      SELECT run, topic, min(at_ms) AS at_ms FROM rest WHERE event = 'topic_removed' GROUP BY run, topic
    ) USING (run, topic)
  )
  WINDOW of_partition AS (PARTITION BY run, topic, partition ORDER BY zxid)
)
WHERE change != 'deleted'
WINDOW since_created AS (PARTITION BY run, topic, partition, life ORDER BY zxid)
"""


def number_given(name: str, column: str) -> str:
    """SQL: value of a setting in `column`, a text `name=value name=value`; null: none."""
    pattern = f"(?:^| ){name.replace('.', '[.]')}=([0-9]+)"
    return f"try_cast(nullif(regexp_extract({column}, '{pattern}', 1), '') AS BIGINT)"


_CONFIGURED, _STARTED = (number_given("min.insync.replicas", column) for column in ("config", "settings"))

ALTERED_MIN_INSYNC = f"""
      SELECT run, min(IF(altered IS NULL, least, NULL)) AS of_brokers,
        map_from_entries(filter(collect_list(struct(altered, least)), one -> one.altered IS NOT NULL)) AS of_topics
      FROM (
        -- who has none of its own any more goes by what the brokers began with
        SELECT run, altered, min(coalesce(given, began, 1L)) AS least
        FROM (
          SELECT run, event, IF(event = 'topic_configured', topic, NULL) AS altered, {_CONFIGURED} AS given,
            min(IF(event = 'node_started', coalesce({_STARTED}, 1L), NULL)) OVER of_run AS began,
            max(event = 'broker_configured' AND {_CONFIGURED} IS NOT NULL) OVER of_run AS by_brokers
          FROM rest
          WHERE event IN ('topic_configured', 'broker_configured')
            OR (event = 'node_started' AND roles LIKE '%broker%')
          WINDOW of_run AS (PARTITION BY run)
        )
        WHERE event = 'topic_configured' OR (event = 'broker_configured' AND by_brokers)
        GROUP BY run, altered
      )
      GROUP BY run"""
"""Least values of min.insync.replicas after changes at run time, a row per run with any.

`of_topics`: by altered topic. `of_brokers`: of all topics, where brokers' settings changed.
"""

ALTERED_LEAST = "try_element_at(of_topics, {topic}), of_brokers"
"""SQL: the values of one topic as arguments of least(), which ignores nulls."""

SMALL_ISRS = f"""
SELECT run, node, topic, partition, in_sync, high_watermark, from_ms, until_ms, least AS min_insync_replicas
FROM (
  SELECT *, at_ms AS from_ms, min(IF(in_sync < least, NULL, at_ms)) OVER (
    PARTITION BY run, node, topic, partition ORDER BY incarnation, seq
    ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS until_ms
  FROM (
    SELECT believed.*, least(min_insync_replicas, {ALTERED_LEAST.format(topic="topic")}) AS least
    FROM (
      SELECT run, node, topic, partition, incarnation, seq, at_ms, high_watermark, min_insync_replicas,
        CASE WHEN event = 'isr_change_asked' THEN size(split(now, ','))
             WHEN event = 'isr_change_ended' OR role = 'leader' THEN size(split(isr, ',')) END AS in_sync
      FROM rest
      WHERE event = 'role_changed' OR (event = 'isr_change_ended' AND result = 'done')
        OR (event = 'isr_change_asked' AND change = 'expand')
    ) AS believed
    LEFT JOIN ({ALTERED_MIN_INSYNC}
    ) AS altered ON believed.run = altered.run
  )
)
WHERE in_sync < least
"""
