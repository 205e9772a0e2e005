"""Terms of leaders and controllers, and windows in which two overlap.

A term begins with a node's event that it leads (or controls). It ends with the same node's opposite event, with the
deletion of the log that it led with (the only event of a replica that was moved away), or with its death:
`node_stopped`, a kill or power loss, or its next incarnation, whichever is first. Within a node, sequence numbers order
events; between nodes the scenario's clock does, so `from_ms` and `to_ms` are as good as the machine's clock. A node
without an end has its term to the end of the run. One that goes on in a new epoch has one term for each; a leader of
KRaft reports its role again, in the same epoch, when a delta has another ISR.

OVERLAPS is the table `overlaps`: windows in which two nodes hold one role, the one of the smaller epoch being
`stale`; `office` (leader or controller), `run`, `topic`, `partition`, `stale`, `stale_epoch`, `newer`, `newer_epoch`,
`from_ms`, `to_ms` (null: to the end of the run). One row per pair of terms of different nodes and epochs.
"""

from emulator.faults.machine_fault_kinds import KILLING

SQL_KILLING = ", ".join(repr(word) for word in sorted(KILLING))

_DEATHS = f"""
SELECT run, node, incarnation, died_ms FROM (
  SELECT *, lead(at_ms) OVER (PARTITION BY run, node ORDER BY at_ms) AS died_ms
  FROM (
    SELECT run, CASE WHEN event = 'machine_fault' THEN target ELSE node END AS node,
      CASE WHEN event = 'machine_fault' THEN NULL ELSE incarnation END AS incarnation, event, at_ms
    FROM rest
    WHERE event IN ('node_started', 'node_stopped') OR (event = 'machine_fault' AND what IN ({SQL_KILLING}))
  )
)
WHERE event = 'node_started'
"""

_REPORTED = """
SELECT run, node, incarnation, seq, at_ms,
  CASE WHEN event = 'controller_changed' THEN 'controller' ELSE 'leader' END AS office,
  coalesce(topic, '') AS topic, coalesce(partition, -1L) AS partition,
  CASE WHEN event = 'controller_changed' THEN controller_epoch ELSE leader_epoch END AS epoch,
  CASE event WHEN 'role_changed' THEN role = 'leader' WHEN 'controller_changed' THEN active ELSE false END AS holds
FROM rest WHERE event IN ('role_changed', 'controller_changed', 'log_deleted')
"""

OVERLAPS = f"""
SELECT office, run, topic, partition,
  stale.node AS stale, stale.epoch AS stale_epoch, newer.node AS newer, newer.epoch AS newer_epoch,
  greatest(stale.from_ms, newer.from_ms) AS from_ms, least(stale.to_ms, newer.to_ms) AS to_ms
FROM (
  SELECT office, run, topic, partition, stale, explode(filter(held, newer ->
    newer.epoch > stale.epoch AND newer.node != stale.node
    AND greatest(stale.from_ms, newer.from_ms) < coalesce(least(stale.to_ms, newer.to_ms), double('infinity'))
  )) AS newer
  FROM (
    SELECT office, run, topic, partition, held, explode(held) AS stale
    FROM (
      SELECT office, run, topic, partition, collect_list(struct(epoch, node, at_ms AS from_ms,
        -- least and greatest leave nulls out: a death counts only where there was one
        least(next_ms, CASE WHEN died_ms IS NOT NULL THEN greatest(died_ms, at_ms) END) AS to_ms)) AS held
      FROM (
        SELECT *, lead(at_ms) OVER of_node AS next_ms
        FROM (SELECT *, lag(struct(holds, epoch)) OVER of_node AS before FROM ({_REPORTED})
          WINDOW of_node AS (PARTITION BY office, run, topic, partition, node, incarnation ORDER BY seq))
        WHERE before IS NULL OR before != struct(holds, epoch)
        WINDOW of_node AS (PARTITION BY office, run, topic, partition, node, incarnation ORDER BY seq)
      )
      LEFT JOIN ({_DEATHS}) USING (run, node, incarnation)
      WHERE holds
      GROUP BY office, run, topic, partition
    )
    WHERE size(held) > 1
  )
)
"""

HOW_LONG = (
    "CASE WHEN to_ms IS NULL THEN 'to the end of the run' ELSE format_string('for %d ms', bigint(to_ms - from_ms)) END"
)
"""`for 120 ms`, of a window."""
