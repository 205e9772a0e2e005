"""Dual controller: a superseded controller writes a state, or two share one epoch.

A controller begins by committing its controller epoch in ZooKeeper. From that transaction on no controller of an older
epoch may decide. Since 2.1 ZooKeeper refuses a controller's write unless the epoch is still its own (KAFKA-6082). The
order of transactions does not depend on clocks, so the check compares zxids. It takes the states with a new leader
epoch, and each partition's first. None may be written under a controller epoch after a later one was committed. A
leader's own change of its ISR does not count: it keeps the leader epoch, and the controller epoch of its election. A
row is one such controller epoch, with the count of its states. A replaced controller that decides nothing breaks no
promise; the measure `dual_controller_ms` has that time.

In KRaft the epoch is the quorum's, and a superseded controller's decisions are not committed: no state can be late. An
isolated controller may stay active by its own view (up to 3.6; kraft-semantics 2.5), which the measure shows.

Two brokers with one controller epoch are a violation at any time: brokers could not distinguish their orders.
"""

from audit.checks.check import Check

_WROTE = r"""
SELECT run, '' AS topic, -1L AS partition, -1L AS offset,
  format_string('%s (controller epoch %d) wrote %d states of partitions after controller epoch %d was committed',
    coalesce(node, 'a controller'), controller_epoch, states, reached) AS text,
  to_json(struct(node, controller_epoch, reached, states, zxid)) AS details
FROM (
  SELECT run, controller_epoch, count(*) AS states, min(reached) AS reached, min(zxid) AS zxid
  FROM (
    SELECT *, lag(leader_epoch) OVER (PARTITION BY run, path ORDER BY zxid) AS last_leader_epoch,
      max(IF(path = '/controller_epoch', try_cast(data AS BIGINT), NULL)) OVER (PARTITION BY run ORDER BY zxid)
        AS reached
    FROM (
      SELECT run, path, zxid, max(change) AS change, max(data) AS data,
        CAST(get_json_object(max(data), '$.leader_epoch') AS BIGINT) AS leader_epoch,
        CAST(get_json_object(max(data), '$.controller_epoch') AS BIGINT) AS controller_epoch
      FROM rest
      WHERE event = 'znode_changed'
        AND (path = '/controller_epoch' OR path RLIKE '^/brokers/topics/[^/]+/partitions/[0-9]+/state$')
      GROUP BY run, path, zxid
    )
  )
  WHERE controller_epoch < reached AND change != 'deleted' AND (change = 'created' OR leader_epoch > last_leader_epoch)
  GROUP BY run, controller_epoch
)
LEFT JOIN (
  SELECT run, controller_epoch, min(node) AS node
  FROM rest WHERE event = 'controller_changed' AND active GROUP BY run, controller_epoch
) USING (run, controller_epoch)
"""

_SHARED = """
SELECT run, '' AS topic, -1L AS partition, -1L AS offset,
  format_string('%s were controller in the same controller epoch %d', array_join(nodes, ' and '), controller_epoch),
  to_json(struct(controller_epoch, nodes))
FROM (
  SELECT run, controller_epoch, sort_array(collect_set(node)) AS nodes
  FROM rest WHERE event = 'controller_changed' AND active AND controller_epoch > 0 GROUP BY run, controller_epoch
)
WHERE size(nodes) > 1
"""

CHECK = Check(
    name="dual-controller",
    title="One controller at a time",
    definition=__doc__,
    levels=("replica",),
    needs=("controller_changed", "znode_changed or partition_state_committed"),
    subject="controller changes",
    # A controller must have decided who leads: a run with leaders and no controller has lost that event.
    subjects=lambda counts: counts["controller_changed"] or counts["role_changed"],
    violations=f"{_WROTE} UNION ALL {_SHARED}",
)
