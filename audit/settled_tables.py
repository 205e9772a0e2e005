"""Quiescent periods of runs: since when every fault is healed and every process lives.

Liveness checks judge only there (`no-leader`, `under-replicated`, `unanswered-request`). A run is settled when each
link rule that was in force is healed wherever its process still lives, when the last fault of each node is its start or
resume, and when no process died by itself. The period begins with the last of all these events, and of those that show
traffic on healed links, and ends with the run.

SETTLED makes the table `settled`: `run`, `since_ms`, `end_ms`, and the longest timeouts of any broker, `session_ms`
(zookeeper.session.timeout.ms) and `lag_ms` (replica.lag.time.max.ms), Kafka's default where not set. In KRaft
`session_ms` is the longest time until a controller fences a broker: the quorum elects a leader within its fetch timeout
and two election timeouts, and each claim begins all sessions anew (broker.session.timeout.ms). `stalled_ms`: longest
wait of a request between brokers that never gets a response. A request to the controller for an ISR change (AlterIsr,
from inter.broker.protocol.version 2.7 on) waits request.timeout.ms, in KRaft controller.socket.timeout.ms. Where links
were broken (`links_broken`), every broker may have a dead connection for that long, or for replica.socket.timeout.ms.

LASTING makes the table `lasting`: each committed state of a partition, its duration in the period, the final replicas
of the partition, since when and how long both have held in the period (`assigned_ms`, `assigned_for_ms`).
WAITING makes `waiting`: clients' requests that were in flight in a long enough period, their waits and bounds; in a big
run those that may have waited too long. WAITED makes `waited`: counts of `requests` of each run, of all others
(`request` null), and of each of these. PROMISED makes `promised`: records acknowledged with acks=all in partitions with
a final leader and a long enough period, with the least min.insync.replicas that any broker reported for the partition.
"""

from __future__ import annotations

from audit.states import ALTERED_LEAST, ALTERED_MIN_INSYNC, number_given

DISTURBING = (
    *("fault_asked", "fault_in_force", "fault_healed", "fault_tried", "fault_traffic", "machine_fault"),
    *("hardware_changed", "node_started"),
)
"""Events after which a quiescent period may begin."""


def _since(version: str, major: int, minor: int) -> str:
    """SQL: whether the column `version` is at least this version; null where it is no version."""
    return (
        f"struct(try_cast(substring_index({version}, '.', 1) AS INT), "
        f"try_cast(substring_index(substring_index({version}, '.', 2), '.', -1) AS INT)) >= struct({major}, {minor})"
    )


def _given(name: str, before: int, after: int) -> str:
    """SQL: brokers' largest setting; `before`, `after`: default up to 2.4, from 2.5 (KIP-537)."""
    default = f"{after}L" if before == after else f"IF({_since('kafka_version', 2, 5)}, {after}L, {before}L)"
    return f"""
    max(IF(event = 'node_started' AND roles LIKE '%broker%',
      coalesce({number_given(name, "settings")}, {default}), NULL))"""


_QUORUM = ("broker.session.timeout.ms", 9_000), ("controller.quorum.fetch.timeout.ms", 2_000)
_ELECTION = ("controller.quorum.election.timeout.ms", 1_000)
_FENCED = f"""
    max(IF(event = 'node_started' AND roles LIKE '%controller%',
      {" + ".join(f"coalesce({number_given(name, 'settings')}, {ms}L)" for name, ms in (*_QUORUM, *[_ELECTION] * 2))},
      NULL))"""
"""SQL: longest time until KRaft fences a broker.

A quorum elects a leader, and the broker's session begins anew.
"""


SETTLED = f"""
WITH broken AS (
  SELECT run FROM (
    SELECT run, max_by(what, struct(at_ms, seq)) AS last FROM rest
    WHERE event = 'machine_fault' AND what NOT IN ('slow-disk', 'clock-jump') GROUP BY run, target
  )
  WHERE last NOT IN ('start', 'resume')
  UNION ALL
  -- no timer goes by a wall clock, so one that jumped breaks nothing
  SELECT run FROM (
    SELECT run, max_by(operation_ms + fsync_ms, struct(at_ms, seq)) AS slower_ms FROM rest
    WHERE event = 'hardware_changed' GROUP BY run, target
  )
  WHERE slower_ms > 0
  UNION ALL
  SELECT run FROM (
    SELECT run, node, incarnation, rule, max(event = 'fault_healed') AS healed,
      max(max(incarnation)) OVER (PARTITION BY run, node) AS last_life
    FROM rest WHERE event IN ('fault_in_force', 'fault_healed') GROUP BY run, node, incarnation, rule
  )
  WHERE NOT healed AND incarnation = last_life
  UNION ALL SELECT run FROM rest WHERE event = 'node_stopped' AND code != 0
  UNION ALL SELECT run FROM rest WHERE event = 'machine_fault' AND what = 'died'
)
SELECT run, since_ms, end_ms, session_ms, lag_ms, links_broken,
  CASE WHEN links_broken THEN greatest(asked_ms, socket_ms)
       WHEN alters_isr OR kraft THEN asked_ms ELSE 0L END AS stalled_ms
FROM (
  SELECT *, IF(kraft, fenced_ms, zookeeper_ms) AS session_ms, IF(kraft, controller_ms, request_ms) AS asked_ms
  FROM (
    SELECT run, max(IF(event IN ({', '.join(map(repr, DISTURBING))}), at_ms, NULL)) AS since_ms, max(at_ms) AS end_ms,
      {_given("zookeeper.session.timeout.ms", 6_000, 18_000)} AS zookeeper_ms, {_FENCED} AS fenced_ms,
      max(event = 'quorum_state_changed') AS kraft,
      {_given("controller.socket.timeout.ms", 30_000, 30_000)} AS controller_ms,
      {_given("replica.lag.time.max.ms", 10_000, 30_000)} AS lag_ms,
      {_given("request.timeout.ms", 30_000, 30_000)} AS request_ms,
      {_given("replica.socket.timeout.ms", 30_000, 30_000)} AS socket_ms,
      max(event = 'fault_in_force') AS links_broken,
      max(event = 'node_started' AND roles LIKE '%broker%' AND {_since("protocol_version", 2, 7)}) AS alters_isr
    FROM rest GROUP BY run
  )
)
LEFT ANTI JOIN broken USING (run)
WHERE since_ms IS NOT NULL AND session_ms IS NOT NULL
"""

LASTING = r"""
-- `last`: nothing followed it; `peace_ms`: how long the peace lasted
SELECT settled.run, states.topic, states.partition, leader, isr, assigned.replicas, session_ms, lag_ms, stalled_ms,
  until_ms IS NULL AS last, coalesce(until_ms, end_ms) - greatest(at_ms, since_ms) AS lasted_ms,
  greatest(at_ms, since_ms) AS from_ms, end_ms - since_ms AS peace_ms,
  coalesce(until_ms, end_ms) - greatest(at_ms, since_ms, assigned_ms) AS assigned_for_ms,
  greatest(at_ms, since_ms, assigned_ms) AS assigned_ms
FROM states
JOIN settled ON states.run = settled.run
LEFT JOIN (
  SELECT run, topic, try_cast(number AS BIGINT) AS partition, replicas, assigned_ms
  FROM (
    SELECT run, substring_index(path, '/', -1) AS topic, max(at_ms) AS assigned_ms, explode(from_json(get_json_object(
      max_by(data, zxid), '$.partitions'), 'MAP<STRING, ARRAY<BIGINT>>')) AS (number, replicas)
    FROM rest WHERE event = 'znode_changed' AND change != 'deleted' AND path RLIKE '^/brokers/topics/[^/]+$'
    GROUP BY run, path
  )
  UNION ALL
  SELECT run, topic, partition, replicas, max(assigned_ms) OVER (PARTITION BY run, topic) AS assigned_ms
  FROM (
    SELECT run, topic, partition, max_by(replicas, zxid) AS replicas,
      max(IF(last_replicas IS NULL OR replicas != last_replicas, at_ms, NULL)) AS assigned_ms
    FROM states WHERE replicas IS NOT NULL GROUP BY run, topic, partition
  )
) AS assigned
ON states.run = assigned.run AND states.topic = assigned.topic AND states.partition = assigned.partition
"""

ISR_MS = "(lag_ms + session_ms + stalled_ms)"
"""SQL: longest time until all replicas are in sync."""

LATE_MS = 1_000
"""Maximum lateness of a client's own timer."""

_REQUEST_MS = f"({ISR_MS} + lag_ms)"

_IN_PEACE = f"(SELECT * FROM settled WHERE end_ms - since_ms > {_REQUEST_MS}) AS settled"
_LAST_LIVES = """(
    SELECT run, node, max(incarnation) AS incarnation FROM rest WHERE event = 'node_started' GROUP BY run, node
  ) AS lives"""
"""Last incarnations: no client waits for a request of a former one."""

_REQUEST = "xxhash64(run, node, incarnation, operation, attempt)"

WAITED = f"""
SELECT run, request, count(*) AS requests
FROM (
  SELECT /*few(settled)*/ settled.run,
    IF(coalesce(ended_ms, end_ms) - greatest(sent_ms, since_ms) > {_REQUEST_MS}, request, NULL) AS request
  FROM (
    SELECT run, request, min(sent_ms) AS sent_ms, max(ended_ms) AS ended_ms, max(broker) AS broker
    FROM (
      SELECT /*few(lives)*/ run, {_REQUEST} AS request, broker, at_ms AS sent_ms, CAST(NULL AS DOUBLE) AS ended_ms
      FROM requests LEFT SEMI JOIN {_LAST_LIVES} USING (run, node, incarnation)
      UNION ALL
      SELECT /*few(lives)*/ run, {_REQUEST}, NULL, NULL, at_ms
      FROM attempts LEFT SEMI JOIN {_LAST_LIVES} USING (run, node, incarnation)
    )
    GROUP BY run, request
  ) AS tries
  JOIN {_IN_PEACE} ON tries.run = settled.run
  WHERE broker >= 0 AND sent_ms IS NOT NULL AND (ended_ms IS NULL OR ended_ms > since_ms)
)
GROUP BY run, request
"""

_OVERDUE = f"LEFT SEMI JOIN (SELECT request FROM waited WHERE request IS NOT NULL) AS waited ON {_REQUEST} = request"

WAITING = f"""
SELECT *, until_ms - from_ms AS lasted_ms
FROM (
  SELECT tries.run, node, operation, attempt, broker, greatest(sent_ms, since_ms) AS from_ms,
    coalesce(ended_ms, end_ms) AS until_ms,
    IF(links_broken, greatest({_REQUEST_MS}, timeout_ms + {LATE_MS}), {_REQUEST_MS}) AS bound_ms
  FROM (
    SELECT run, node, incarnation, operation, attempt, max(broker) AS broker, max(timeout_ms) AS timeout_ms,
      min(sent_ms) AS sent_ms, max(ended_ms) AS ended_ms
    FROM (
      SELECT /*few(waited)*/ run, node, incarnation, operation, attempt, broker, timeout_ms, at_ms AS sent_ms,
        CAST(NULL AS DOUBLE) AS ended_ms
      FROM requests
      --big {_OVERDUE}
      UNION ALL
      SELECT /*few(waited)*/ run, node, incarnation, operation, attempt, NULL, NULL, NULL, at_ms FROM attempts
      --big {_OVERDUE}
    )
    GROUP BY run, node, incarnation, operation, attempt
  ) AS tries
  JOIN {_IN_PEACE} ON tries.run = settled.run
  LEFT SEMI JOIN {_LAST_LIVES}
    ON tries.run = lives.run AND tries.node = lives.node AND tries.incarnation = lives.incarnation
  WHERE broker >= 0 AND sent_ms IS NOT NULL AND (ended_ms IS NULL OR ended_ms > since_ms)
)
"""

PROMISED = f"""
-- what a change of settings may have made of it counts with its least value
SELECT o.run, o.topic, o.partition, o.operation, o.offset, o.records, o.digest, o.at_ms, replicas,
  least(told.least, {ALTERED_LEAST.format(topic="o.topic")}, size(replicas)) AS least
FROM operations AS o
JOIN (
  SELECT run, topic, partition, replicas FROM lasting
  WHERE last AND leader >= 0 AND lasted_ms > {ISR_MS} AND replicas IS NOT NULL
) AS settled ON o.run = settled.run AND o.topic = settled.topic AND o.partition = settled.partition
JOIN (
  SELECT run, topic, partition, min(min_insync_replicas) AS least, collect_set(node) AS brokers
  FROM rest WHERE min_insync_replicas > 0 GROUP BY run, topic, partition
) AS told ON o.run = told.run AND o.topic = told.topic AND o.partition = told.partition
LEFT JOIN ({ALTERED_MIN_INSYNC}) AS altered ON o.run = altered.run
WHERE o.kind = 'produce' AND o.outcome = 'ok' AND o.acks = -1 AND NOT o.gone
  AND array_contains(told.brokers, concat('broker-', CAST(o.broker AS STRING)))
"""
