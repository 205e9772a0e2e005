"""Finds clocks that contradict causality: an event earlier than its cause at another node.

Between nodes the scenario's clock orders events (`audit.leadership_terms`). It can be wrong: a file whose times are
shifted, a machine with a wrong clock. Wherever one event must precede another, the query compares their times, so that
a wrong clock makes a run unknown instead of better:

- a leader appends a batch before any follower has it;
- ZooKeeper commits a leader epoch before a broker takes a role in it, and a controller epoch likewise;
- a node of KRaft's quorum leads an epoch before any other node knows it as that epoch's leader;
- a leader appends a record before a client learns its offset;
- the injector requests a process or a rule before the process begins or the rule is in force.

In a big set of runs a number identifies batches (`audit.suspect_offsets`) and records first; only those whose times
could contradict are compared.

CLOCKS has rows `run`, `text`: one for each pair of nodes.
"""

from __future__ import annotations

from audit.suspect_offsets import AT, SPARE_MS

_APPENDS = f"""
-- of each node the first append at an offset: a follower's has the leader's before it
SELECT run, min_by(node, led_ms) FILTER (WHERE led_ms IS NOT NULL) AS before_node, min(led_ms) AS before_ms,
  min_by(node, followed_ms) FILTER (WHERE followed_ms IS NOT NULL) AS after_node, min(followed_ms) AS after_ms
FROM (
  SELECT run, node, topic, partition, leader_epoch, base_offset,
    min(IF(as_leader, at_ms, NULL)) AS led_ms, min(IF(as_leader, NULL, at_ms)) AS followed_ms
  FROM (
    SELECT /*few(odd_places)*/ * FROM appends
    --big LEFT SEMI JOIN odd_places ON {AT} = place
  )
  GROUP BY run, node, topic, partition, leader_epoch, base_offset
)
GROUP BY run, topic, partition, leader_epoch, base_offset
"""

_ROLES = """
SELECT run, before_node, before_ms, node AS after_node, at_ms AS after_ms
FROM (
  SELECT run, substring_index(topic, '#', 1) AS topic, partition, leader_epoch, node, min(at_ms) AS at_ms
  FROM rest WHERE event = 'role_changed' AND leader_epoch >= 0 GROUP BY run, topic, partition, leader_epoch, node
)
JOIN (
  SELECT run, topic, partition, leader_epoch, min_by(node, at_ms) AS before_node, min(at_ms) AS before_ms
  FROM (
    SELECT run, node, at_ms, CAST(get_json_object(data, '$.leader_epoch') AS BIGINT) AS leader_epoch,
      regexp_extract(path, '^/brokers/topics/([^/]+)/', 1) AS topic,
      CAST(regexp_extract(path, '/partitions/([0-9]+)/', 1) AS BIGINT) AS partition
    FROM rest WHERE event = 'znode_changed' AND path RLIKE '^/brokers/topics/[^/]+/partitions/[0-9]+/state$'
  )
  GROUP BY run, topic, partition, leader_epoch
) USING (run, topic, partition, leader_epoch)
"""

_CONTROLLERS = """
SELECT run, before_node, before_ms, node AS after_node, at_ms AS after_ms
FROM (
  SELECT run, controller_epoch, node, min(at_ms) AS at_ms
  FROM rest WHERE event = 'controller_changed' AND active AND controller_epoch > 0
  GROUP BY run, controller_epoch, node
)
JOIN (
  SELECT run, try_cast(data AS BIGINT) AS controller_epoch, min_by(node, at_ms) AS before_node,
    min(at_ms) AS before_ms
  FROM rest WHERE event = 'znode_changed' AND path = '/controller_epoch' GROUP BY run, data
) USING (run, controller_epoch)
"""

_QUORUM = """
SELECT run, before_node, before_ms, node AS after_node, at_ms AS after_ms
FROM (
  SELECT run, epoch, leader, node, min(at_ms) AS at_ms
  FROM rest WHERE event = 'quorum_state_changed' AND state != 'leader' AND leader >= 0
  GROUP BY run, epoch, leader, node
)
JOIN (
  SELECT run, epoch, leader, min_by(node, at_ms) AS before_node, min(at_ms) AS before_ms
  FROM rest WHERE event = 'quorum_state_changed' AND state = 'leader' GROUP BY run, epoch, leader
) USING (run, epoch, leader)
"""

_REQUESTS = """
SELECT run, before_node, before_ms, node AS after_node, at_ms AS after_ms
FROM (
  SELECT run, rule, node, min(at_ms) AS at_ms FROM rest WHERE event = 'fault_in_force' GROUP BY run, rule, node
)
JOIN (
  SELECT run, rule, min_by(node, at_ms) AS before_node, min(at_ms) AS before_ms
  FROM rest WHERE event = 'fault_asked' GROUP BY run, rule
) USING (run, rule)
UNION ALL
SELECT run, before_node, before_ms, node, at_ms
FROM (SELECT run, node, incarnation, at_ms FROM rest WHERE event = 'node_started')
JOIN (
  SELECT run, target AS node, life AS incarnation, min_by(node, at_ms) AS before_node, min(at_ms) AS before_ms
  FROM rest WHERE event = 'machine_fault' AND what = 'start' GROUP BY run, target, life
) USING (run, node, incarnation)
"""

_RECORDS = f"""
SELECT run, before_node, before_ms, o.node AS after_node, o.at_ms AS after_ms
FROM operations AS o
JOIN (
  SELECT run, topic, partition, digest, min_by(node, at_ms) AS before_node, min(at_ms) AS before_ms
  FROM (
    SELECT /*few(doubtful)*/ * FROM appends
    --big LEFT SEMI JOIN (
    --big   SELECT record FROM (
    --big     SELECT xxhash64(run, topic, partition, digest) AS record, at_ms AS led_ms, CAST(NULL AS DOUBLE) AS told_ms
    --big     FROM appends WHERE as_leader
    --big     UNION ALL
    --big     SELECT xxhash64(run, topic, partition, digest), NULL, at_ms FROM operations
    --big     WHERE kind = 'produce' AND outcome = 'ok' AND acks != 0
    --big   )
    --big   GROUP BY record HAVING min(told_ms) < min(led_ms) - {SPARE_MS}
    --big ) AS doubtful ON xxhash64(run, topic, partition, digest) = record
    WHERE as_leader
  )
  GROUP BY run, topic, partition, digest
) USING (run, topic, partition, digest)
WHERE o.kind = 'produce' AND o.outcome = 'ok' AND o.acks != 0
"""

_EDGES = " UNION ALL ".join(
    f"SELECT run, before_node, before_ms, after_node, after_ms FROM ({edges})"
    for edges in (_APPENDS, _ROLES, _CONTROLLERS, _QUORUM, _REQUESTS, _RECORDS)
)
CLOCKS = f"""
SELECT run, format_string(
  'the clocks of %s and %s contradict each other: what %s did at %d ms led to what %s did at %d ms',
  before_node, after_node, before_node, bigint(before_ms), after_node, bigint(after_ms)) AS text
FROM (
  SELECT run, before_node, after_node, max_by(before_ms, before_ms - after_ms) AS before_ms,
    max_by(after_ms, before_ms - after_ms) AS after_ms
  FROM ({_EDGES})
  WHERE after_ms < before_ms - {SPARE_MS}
  GROUP BY run, before_node, after_node
)"""
