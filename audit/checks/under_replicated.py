"""Under-replicated: a replica stays out of the ISR although all nodes are connected.

After all faults are healed and all processes are alive, a lagging replica fetches the missing records, and its leader
adds it to the ISR. The bound counts from the last heal, start, or first traffic since (liveness; semantics 1.4). It is
the sum of these values, each the longest of any broker:

- `zookeeper.session.timeout.ms`: a broker may have to wait until its earlier incarnation's session expires; in KRaft
  `broker.session.timeout.ms`, and an election before it (`controller.quorum.fetch.timeout.ms`, two
  `controller.quorum.election.timeout.ms`);
- `replica.lag.time.max.ms`: after that it may lag for so long;
- from 2.7 on `request.timeout.ms`: a leader repeats a request to the controller only after that, if the response is
  lost (semantics 1.6, 11.8). In KRaft it is `controller.socket.timeout.ms`;
- if links were broken, the larger of that and `replica.socket.timeout.ms` instead: a follower may wait so long on a
  dead connection.

A row is a state with fewer in-sync replicas than the partition's final assignment that lasted longer, counted from the
assignment. Judged only in runs with a long enough quiescent period (`audit.settled_tables`), otherwise skipped.
"""

from audit.checks.check import Check
from audit.settled_tables import ISR_MS

BOUND = ISR_MS

VIOLATIONS = f"""
SELECT run, topic, partition, -1L AS offset,
  format_string('%s of %s were in sync for %d ms from %d ms on, with all faults healed and all nodes alive; '
    || 'at most %d ms are needed',
    array_join(isr, ','), array_join(replicas, ','), bigint(assigned_for_ms), bigint(assigned_ms), {BOUND}) AS text,
  to_json(struct(isr, replicas, assigned_ms AS from_ms, assigned_for_ms AS lasted_ms, {BOUND} AS bound_ms)) AS details
FROM lasting
WHERE size(isr) < size(replicas) AND assigned_for_ms > {BOUND}
"""

COUNTED = f"SELECT DISTINCT run, topic, partition FROM lasting WHERE peace_ms > {BOUND}"

CHECK = Check(
    name="under-replicated",
    title="All replicas are in sync again",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="partitions in a long enough quiescent period",
    subjects=lambda counts: 0,
    violations=VIOLATIONS,
    counted=COUNTED,
    of_absence=True,
)
