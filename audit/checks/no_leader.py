"""No leader: a partition stays without a leader although all nodes are alive and connected.

After all faults are healed and all processes are alive, an in-sync replica can lead. The controller elects it as soon
as it learns of that. The latest moment is when a lost session of a controller or broker has expired and the node is
back. The bound is twice `zookeeper.session.timeout.ms`, the longest of any broker, counted from the last heal, start,
or first traffic since (liveness; semantics 4.2). In KRaft it is twice the longest time until a broker is fenced: the
sum of `broker.session.timeout.ms`, `controller.quorum.fetch.timeout.ms` and two times
`controller.quorum.election.timeout.ms`. A row is a state without a leader that lasted longer. Judged only in runs with
a long enough quiescent period (`audit.settled_tables`), otherwise skipped.
"""

from audit.checks.check import Check

BOUND = "2 * session_ms"

VIOLATIONS = f"""
SELECT run, topic, partition, -1L AS offset,
  format_string('no leader for %d ms from %d ms on, with all faults healed and all nodes alive; '
    || 'at most %d ms are needed',
    bigint(lasted_ms), bigint(from_ms), {BOUND}) AS text,
  to_json(struct(from_ms, lasted_ms, {BOUND} AS bound_ms)) AS details
FROM lasting WHERE leader < 0 AND lasted_ms > {BOUND}
"""

COUNTED = f"SELECT DISTINCT run, topic, partition FROM lasting WHERE peace_ms > {BOUND}"

CHECK = Check(
    name="no-leader",
    title="A leader is elected again",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="partitions in a long enough quiescent period",
    subjects=lambda counts: 0,
    violations=VIOLATIONS,
    counted=COUNTED,
    of_absence=True,
)
