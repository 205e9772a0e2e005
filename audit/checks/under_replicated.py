"""Under-replicated: a replica stays out of the in-sync replicas although everybody is there and can talk.

Once all faults are healed and all processes live, a replica that lags fetches what it lacks, and its leader takes it
into the ISR again. The bound is `replica.lag.time.max.ms` and `zookeeper.session.timeout.ms` together, the longest that
any broker has: a broker may first have to wait for the session of its former life to expire, and has then as long as a
replica may lag; counted from the last heal, start, or first traffic since (liveness; semantics 1.4). Where a leader
asks the controller for its ISR (2.7 on) comes `request.timeout.ms` on top, for a question whose answer is lost is asked
again no sooner (semantics 1.6, 11.8); and where links were broken that or `replica.socket.timeout.ms`, for a follower
may wait so long on a connection that is dead. A row is a state with fewer in-sync replicas than the partition is
assigned in the end, that lasted longer, counted from when it was assigned those. Judged only in runs that were left in
peace for so long (`audit.settled`), otherwise skipped.
"""

from audit.checks.check import Check
from audit.settled import ISR_MS

BOUND = ISR_MS

VIOLATIONS = f"""
SELECT run, topic, partition, -1L AS offset,
  format_string('%s of %s were in sync for %d ms from %d ms on, and all was healed and alive; at most %d ms are needed',
    array_join(isr, ','), array_join(replicas, ','), bigint(assigned_for_ms), bigint(assigned_ms), {BOUND}) AS text,
  to_json(struct(isr, replicas, assigned_ms AS from_ms, assigned_for_ms AS lasted_ms, {BOUND} AS bound_ms)) AS details
FROM lasting
WHERE size(isr) < size(replicas) AND assigned_for_ms > {BOUND}
"""

COUNTED = f"SELECT DISTINCT run, topic, partition FROM lasting WHERE peace_ms > {BOUND}"

UNDER_REPLICATED = Check(
    name="under-replicated",
    title="All replicas are in sync again",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="partitions of a run that was left in peace long enough",
    subjects=lambda counts: 0,
    violations=VIOLATIONS,
    counted=COUNTED,
    of_absence=True,
)
